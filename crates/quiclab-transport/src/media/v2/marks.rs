//! Share of packets with marks (section 4.2.1.3).

use quiclab_core::{Duration, Time};

/// L4S_AVG_G_UP and L4S_AVG_G_DOWN.
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
/// Maximum interval between updates.
const INTERVAL: Duration = Duration::from_millis(10);

/// Share of packets with marks.
#[derive(Debug)]
pub(super) struct MarkShare {
    /// `l4s_alpha`.
    pub(super) alpha: f64,
    /// `last_update_l4s_alpha_time`.
    updated: Time,
    /// `data_units_delivered_this_rtt` and `data_units_marked_this_rtt`.
    delivered: u64,
    marked: u64,
}

impl MarkShare {
    pub(super) fn new(start: Time) -> Self {
        Self { alpha: 0.0, updated: start, delivered: 0, marked: 0 }
    }

    /// Adds packets that arrived, and those of them with marks: an increase of the share counts at once, a
    /// decrease slowly.
    pub(super) fn add(&mut self, now: Time, rtt: Duration, packets: u64, marked: u64) {
        self.delivered += packets;
        self.marked += marked;
        if self.delivered == 0 || now.since(self.updated) < INTERVAL.min(rtt) {
            return;
        }
        let share = self.marked as f64 / self.delivered as f64;
        self.alpha = if share >= self.alpha {
            L4S_AVG_G_UP * share + (1.0 - L4S_AVG_G_UP) * self.alpha
        } else {
            (1.0 - L4S_AVG_G_DOWN) * self.alpha
        };
        (self.updated, self.delivered, self.marked) = (now, 0, 0);
    }
}
