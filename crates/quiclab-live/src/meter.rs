//! Times at which packets pass quiclab's links, by the machine's clock.

use crate::check::LinkTransits;
use crate::timing::MachineClock;
use quiclab_core::{DropReason, Packet, PacketObserver, Port, Time};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Records the passages through quiclab's links; the first 100 000 packets of each are sufficient.
pub struct LinkMeter {
    clock: MachineClock,
    /// Links by element; `None` for other elements.
    links: Arc<Mutex<Vec<Option<MeteredLink>>>>,
}

/// Packets of one link.
#[derive(Default)]
pub struct MeteredLink {
    passages: LinkTransits,
    /// Numbers of the packets inside, by identifier.
    inside: HashMap<u64, u32>,
    count: u32,
}

/// Maximum number of packets of a link that are recorded.
const METERED: u32 = 100_000;

impl LinkMeter {
    /// Creates a meter at the elements with these indices.
    #[must_use]
    pub fn new(clock: MachineClock, elements: impl IntoIterator<Item = usize>) -> Self {
        let mut links = Vec::new();
        for element in elements {
            if links.len() <= element {
                links.resize_with(element + 1, || None);
            }
            links[element] = Some(MeteredLink::default());
        }
        Self { clock, links: Arc::new(Mutex::new(links)) }
    }

    /// Another handle of the same meter, to read it after the run.
    #[must_use]
    pub fn share(&self) -> Self {
        Self { clock: self.clock, links: self.links.clone() }
    }

    /// Takes the transits of the link with this index.
    #[must_use]
    pub fn take(&self, element: usize) -> LinkTransits {
        let mut links = self.links.lock().expect("no holder panics");
        links[element].take().map(|link| link.passages).unwrap_or_default()
    }

    fn at(&self, element: usize, of: impl FnOnce(&mut MeteredLink)) {
        if let Some(Some(link)) = self.links.lock().expect("no holder panics").get_mut(element) {
            of(link);
        }
    }
}

impl PacketObserver for LinkMeter {
    fn arrival(&mut self, now: Time, element: usize, _: Port, packet: &Packet) {
        self.at(element, |link| {
            if link.count < METERED {
                link.passages.on_enter(link.count, now, packet.wire_size());
                link.inside.insert(packet.id, link.count);
                link.count += 1;
            }
        });
    }

    /// Uses the machine's clock, so that the lateness of the machine is included.
    fn departure(&mut self, now: Time, element: usize, _: Port, packet: &Packet) {
        let clock = self.clock;
        self.at(element, |link| {
            if let Some(number) = link.inside.remove(&packet.id) {
                link.passages.on_leave(number, clock.by_now(now));
            }
        });
    }

    fn discard(&mut self, _: Time, element: usize, _: DropReason, packet: &Packet) {
        self.at(element, |link| {
            link.inside.remove(&packet.id);
        });
    }
}
