//! The simulator as a WebAssembly module. A host writes a request (JSON) into memory that it has from
//! [`quiclab_allocate`], calls [`quiclab_call`], and reads the answer (JSON) at [`quiclab_answer`].
//!
//! ```text
//! {"catalogue": {}}                               what scenarios may contain: schema, stacks, version
//! {"network": {"text": "...", "file": "..."}}     the links of a named path, every default included
//! {"resolve": SCENARIO}                           a scenario as JSON, every default included
//! {"toml": SCENARIO}                              a scenario as TOML, every default included
//! {"start": {"scenario": SCENARIO, "seed": 1, "metrics": ["cwnd_bytes"]}}
//! {"advance": {"run": 1, "until_ns": 1000}}       handles events; answers with new samples and packets
//! {"finish": {"run": 1}}                          the result document, with the digest
//! {"discard": {"run": 1}}
//!
//! SCENARIO: {"text": "...", "format": "toml" or "json", "networks": {"paths/lte": "..."}}
//! ```
//!
//! An answer is `{"ok": ...}` or `{"error": {"message": ...}}`. No pointer of the host is followed: a request is found
//! by its address among the buffers that were given out, and its length is checked against that buffer.

mod catalogue;
mod refusal;
mod request;
mod runs;
mod scenario;
#[cfg(test)]
mod tests;

use runs::Runs;
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Longest request.
const MAX_REQUEST_BYTES: usize = 4 << 20;
/// Buffers that are given out at a time.
const MAX_BUFFERS: usize = 16;

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
    static RUNS: RefCell<Runs> = RefCell::default();
}

/// Memory that the host uses.
#[derive(Default)]
struct Memory {
    /// Buffers for requests, by address.
    buffers: BTreeMap<usize, Vec<u8>>,
    answer: Vec<u8>,
}

impl Memory {
    /// Takes the buffer at `address`, of which the first `length` bytes are a request.
    fn take(&mut self, address: usize, length: usize) -> Result<Vec<u8>, String> {
        let unknown = || format!("request: expected an address from quiclab_allocate, got {address}");
        let capacity = self.buffers.get(&address).map(Vec::len).ok_or_else(unknown)?;
        if length > capacity {
            return Err(format!("request: expected at most {capacity} B in this buffer, got {length} B"));
        }
        let mut bytes = self.buffers.remove(&address).ok_or_else(unknown)?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// Gives out a buffer of `length` bytes for one request; 0 if `length` is 0, more than 4 MiB, or too many buffers are
/// in use.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "an exported name")]
pub extern "C" fn quiclab_allocate(length: usize) -> usize {
    MEMORY.with_borrow_mut(|memory| {
        if length == 0 || length > MAX_REQUEST_BYTES || memory.buffers.len() >= MAX_BUFFERS {
            return 0;
        }
        let mut buffer = vec![0; length];
        let address = buffer.as_mut_ptr() as usize;
        memory.buffers.insert(address, buffer);
        address
    })
}

/// Answers the request in the first `length` bytes of the buffer at `address`, which is given back; returns the length
/// of the answer.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "an exported name")]
pub extern "C" fn quiclab_call(address: usize, length: usize) -> usize {
    keep_panics();
    let taken = MEMORY.with_borrow_mut(|memory| memory.take(address, length));
    let answer = match taken {
        Ok(bytes) => RUNS.with_borrow_mut(|runs| request::answer(&bytes, runs)),
        Err(message) => json!({ "error": { "message": message } }).to_string(),
    };
    keep_answer(answer)
}

/// Address of the last answer, until the next call. After a trap, that of its message, whose length is
/// [`quiclab_answer_length`].
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "an exported name")]
pub extern "C" fn quiclab_answer() -> usize {
    MEMORY.with_borrow(|memory| memory.answer.as_ptr() as usize)
}

/// Length of the last answer.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "an exported name")]
pub extern "C" fn quiclab_answer_length() -> usize {
    MEMORY.with_borrow(|memory| memory.answer.len())
}

fn keep_answer(answer: String) -> usize {
    MEMORY.with_borrow_mut(|memory| {
        memory.answer = answer.into_bytes();
        memory.answer.len()
    })
}

/// Makes the message of a panic the answer: the module traps without a word otherwise.
fn keep_panics() {
    if cfg!(target_arch = "wasm32") {
        std::panic::set_hook(Box::new(|panic| {
            keep_answer(json!({ "error": { "message": panic.to_string(), "defect": true } }).to_string());
        }));
    }
}
