// The engine behind a worker: each call is a promise of the answer. An engine that stopped is replaced by a new one.
export class EngineError extends Error {
  constructor(details) {
    super(details.rendered ?? details.message);
    this.details = details;
  }
}

export class Engine {
  constructor(workerText, moduleText) {
    this.moduleText = moduleText;
    this.address = URL.createObjectURL(new Blob([workerText], { type: "text/javascript" }));
    // time that the engine has worked, for the measurement of its speed
    this.elapsedMs = 0;
    this.begin();
  }

  begin() {
    this.worker = new Worker(this.address);
    this.waiting = new Map();
    this.last = 0;
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.post({ load: this.moduleText }).catch(() => {});
  }

  receive({ id, ok, error, stopped, elapsed_ms: elapsedMs }) {
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    this.elapsedMs += elapsedMs ?? 0;
    if (error) reject(new EngineError(error));
    else resolve(ok);
    if (stopped) this.replace();
  }

  // All runs in progress are lost.
  replace() {
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(new EngineError({ message: "the run was stopped" }));
    this.begin();
  }

  post(message) {
    this.last += 1;
    const id = this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...message });
    });
  }

  // `name` is one of the requests of crates/quiclab-wasm/src/lib.rs.
  call(name, parameters = {}) {
    return this.post({ request: { [name]: parameters } });
  }
}
