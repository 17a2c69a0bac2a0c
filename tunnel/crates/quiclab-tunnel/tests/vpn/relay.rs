//! A path that loses, delays and duplicates datagrams: a relay in user space before the server, as the kernel may lack
//! netem.

use super::lab::Lab;
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Address of the relay on uplink 1, in place of the server's 10.1.1.1:4433.
pub const ADDRESS: &str = "10.1.1.1:4434";
/// Maximum number of datagrams of the client that are kept for [`Relay::replay`].
const KEPT: usize = 4096;

/// Faults of the relay, in each direction.
#[derive(Clone, Copy)]
pub struct Faults {
    /// One in this many datagrams is lost, and one is delayed until three others have passed; 0: none.
    pub one_in: u64,
    /// Whether each is duplicated.
    pub twice: bool,
}

/// Counters of the relay.
#[derive(Default)]
pub struct Relay {
    pub passed: AtomicU64,
    pub lost: AtomicU64,
    pub overtaken: AtomicU64,
    /// Datagrams of the client.
    kept: Mutex<VecDeque<Vec<u8>>>,
    /// The socket towards the server.
    onward: Mutex<Option<UdpSocket>>,
}

impl Relay {
    /// Starts a relay on uplink 1; the client's configuration must name [`ADDRESS`].
    pub fn start(lab: &Lab, faults: Faults) -> Arc<Self> {
        let relay = Arc::new(Self::default());
        let (near, far) = (lab.socket('s', ADDRESS), lab.socket('s', "10.1.1.1:0"));
        far.connect("10.1.1.1:4433").unwrap();
        *relay.onward.lock().unwrap() = Some(far.try_clone().unwrap());
        let client = Arc::new(Mutex::new(None));
        let (back, from_far, to_near) = (relay.clone(), far.try_clone().unwrap(), near.try_clone().unwrap());
        let known = client.clone();
        std::thread::spawn(move || {
            back.pass(faults, 2, &from_far, |data, _| {
                let client: Option<SocketAddr> = *known.lock().unwrap();
                let _ = client.map(|client| to_near.send_to(data, client));
            });
        });
        let own = relay.clone();
        std::thread::spawn(move || {
            own.pass(faults, 1, &near, |data, from| {
                *client.lock().unwrap() = Some(from);
                let mut kept = own.kept.lock().unwrap();
                if kept.len() == KEPT {
                    kept.pop_front();
                }
                kept.push_back(data.to_vec());
                let _ = far.send(data);
            });
        });
        relay
    }

    /// Relays one direction indefinitely.
    fn pass(&self, faults: Faults, seed: u64, from: &UdpSocket, mut send: impl FnMut(&[u8], SocketAddr)) {
        let mut buffer = vec![0; 1 << 16];
        let (mut state, mut held) = (seed, Vec::<(u32, Vec<u8>, SocketAddr)>::new());
        loop {
            // an error means that no process listens at the other side at the moment
            let Ok((size, source)) = from.recv_from(&mut buffer) else { continue };
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let draw = if faults.one_in == 0 { 2 } else { state % faults.one_in };
            match draw {
                0 => drop(self.lost.fetch_add(1, Ordering::Relaxed)),
                1 => held.push((3, buffer[..size].to_vec(), source)),
                _ => {
                    self.passed.fetch_add(1, Ordering::Relaxed);
                    send(&buffer[..size], source);
                    if faults.twice {
                        send(&buffer[..size], source);
                    }
                    for (wait, data, source) in &mut held {
                        *wait -= 1;
                        if *wait == 0 {
                            send(data, *source);
                            self.overtaken.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    held.retain(|(wait, ..)| *wait > 0);
                }
            }
        }
    }

    /// Replays datagrams of the client, the newest first, from the same address; returns their number.
    pub fn replay(&self, most: usize) -> u64 {
        let onward = self.onward.lock().unwrap();
        let kept: Vec<Vec<u8>> = self.kept.lock().unwrap().iter().rev().take(most).cloned().collect();
        let socket = onward.as_ref().expect("it was started");
        kept.iter().filter(|data| socket.send(data).is_ok()).count() as u64
    }
}
