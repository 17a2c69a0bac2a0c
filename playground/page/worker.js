// The worker: holds the WebAssembly module, and passes requests (JSON) to its C interface.
let exports;

async function load(base64) {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = await new Response(stream).arrayBuffer();
  exports = (await WebAssembly.instantiate(bytes, {})).instance.exports;
}

// The engine has stopped: its last answer says why, if it panicked.
function describe(error) {
  const answer = readAnswer();
  if (answer.startsWith("{\"error\"") && answer.includes("\"defect\":true")) return JSON.parse(answer).error.message;
  return `the engine stopped: ${error.message}`;
}

function readAnswer() {
  const view = new Uint8Array(exports.memory.buffer, exports.quiclab_answer() >>> 0, exports.quiclab_answer_length());
  return new TextDecoder().decode(view);
}

function call(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const address = exports.quiclab_allocate(bytes.length) >>> 0; // an address above 2 GiB is no negative number
  if (address === 0) throw new Error(`request: expected at most 4 MiB, got ${bytes.length} B`);
  new Uint8Array(exports.memory.buffer, address, bytes.length).set(bytes);
  exports.quiclab_call(address, bytes.length);
  return JSON.parse(readAnswer());
}

// Makes columns of numbers arrays that are handed over without a copy; returns their buffers.
function pack(columns) {
  const numbers = Object.entries(columns ?? {}).filter(([, column]) => typeof column[0] === "number");
  return numbers.map(([name, column]) => (columns[name] = Float64Array.from(column)).buffer);
}

// One message after the other: the module is loaded before the first request.
let queue = Promise.resolve();
self.onmessage = ({ data: { id, load: module, request } }) => {
  queue = queue.then(async () => {
    try {
      if (module) {
        await load(module);
        self.postMessage({ id, ok: null });
        return;
      }
      const started = performance.now();
      const answer = call(request);
      const buffers = [...pack(answer.ok?.series), ...pack(answer.ok?.packets)];
      self.postMessage({ id, ...answer, elapsed_ms: performance.now() - started }, buffers);
    } catch (error) {
      const message = exports ? describe(error) : `the engine cannot be loaded: ${error.message}`;
      self.postMessage({ id, error: { message }, stopped: true });
    }
  });
};
