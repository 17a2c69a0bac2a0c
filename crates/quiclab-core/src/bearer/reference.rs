//! A second implementation of PDCP reception for tests: TS 38.323 sections 5.2.2.1 and 5.2.2.2
//! literally, with sets of COUNTs. It receives each packet's COUNT and shares no code with the element.

use crate::time::{Duration, Time};
use std::collections::BTreeSet;

/// State variables (section 7.1) and the history of events.
pub(super) struct Reference {
    t_reordering: Duration,
    pub(super) rx_next: u64,
    pub(super) rx_deliv: u64,
    rx_reord: u64,
    /// Expiry of t-Reordering; `None` while it is not running.
    pub(super) timer: Option<Time>,
    reception_buffer: BTreeSet<u64>,
    received: BTreeSet<u64>,
    delivered_counts: BTreeSet<u64>,
    /// Deliveries in their order.
    pub(super) delivered: Vec<(Time, u64)>,
    /// COUNT of each discarded packet, and whether that COUNT had been received before.
    pub(super) discarded: Vec<(u64, bool)>,
    pub(super) expiries: u64,
}

impl Reference {
    pub(super) fn new(first: u64, t_reordering: Duration) -> Self {
        Self {
            t_reordering,
            rx_next: first,
            rx_deliv: first,
            rx_reord: first,
            timer: None,
            reception_buffer: BTreeSet::new(),
            received: BTreeSet::new(),
            delivered_counts: BTreeSet::new(),
            delivered: Vec::new(),
            discarded: Vec::new(),
            expiries: 0,
        }
    }

    /// Section 5.2.2.1, from "if RCVD_COUNT < RX_DELIV".
    pub(super) fn packet_received(&mut self, now: Time, rcvd_count: u64) {
        let received_before = !self.received.insert(rcvd_count);
        // if RCVD_COUNT < RX_DELIV; or if the PDU has been received before: discard
        if rcvd_count < self.rx_deliv || received_before {
            self.discarded.push((rcvd_count, received_before));
            return;
        }
        // store the resulting SDU in the reception buffer
        self.reception_buffer.insert(rcvd_count);
        // if RCVD_COUNT >= RX_NEXT: update RX_NEXT to RCVD_COUNT + 1
        if rcvd_count >= self.rx_next {
            self.rx_next = rcvd_count + 1;
        }
        // if RCVD_COUNT = RX_DELIV
        if rcvd_count == self.rx_deliv {
            // deliver all stored SDUs with consecutive COUNTs starting from RX_DELIV
            self.deliver_consecutive(now, self.rx_deliv);
            // update RX_DELIV to the first SDU not delivered, with COUNT value > RX_DELIV
            self.rx_deliv = self.first_not_delivered(self.rx_deliv + 1);
        }
        // if t-Reordering is running, and if RX_DELIV >= RX_REORD: stop it
        if self.timer.is_some() && self.rx_deliv >= self.rx_reord {
            self.timer = None;
        }
        // if t-Reordering is not running, and RX_DELIV < RX_NEXT
        if self.timer.is_none() && self.rx_deliv < self.rx_next {
            self.rx_reord = self.rx_next;
            self.timer = Some(now + self.t_reordering);
        }
    }

    /// Section 5.2.2.2.
    pub(super) fn t_reordering_expires(&mut self, now: Time) {
        self.timer = None;
        self.expiries += 1;
        // deliver in ascending order all stored SDUs with COUNT value < RX_REORD
        let below: Vec<u64> = self.reception_buffer.range(..self.rx_reord).copied().collect();
        for count in below {
            self.deliver(now, count);
        }
        // and all with consecutive COUNTs starting from RX_REORD
        self.deliver_consecutive(now, self.rx_reord);
        // update RX_DELIV to the first SDU not delivered, with COUNT value >= RX_REORD
        self.rx_deliv = self.first_not_delivered(self.rx_reord);
        // if RX_DELIV < RX_NEXT: update RX_REORD to RX_NEXT, start t-Reordering
        if self.rx_deliv < self.rx_next {
            self.rx_reord = self.rx_next;
            self.timer = Some(now + self.t_reordering);
        }
    }

    /// Numbers that were given up and never delivered.
    pub(super) fn skipped(&self, first: u64) -> u64 {
        (first..self.rx_deliv).filter(|count| !self.delivered_counts.contains(count)).count() as u64
    }

    /// Packets that wait.
    pub(super) fn waiting(&self) -> u64 {
        self.reception_buffer.len() as u64
    }

    /// Waiting packets that the running timer will release when it expires.
    pub(super) fn covered(&self) -> Vec<u64> {
        self.reception_buffer.range(..self.rx_reord).copied().filter(|_| self.timer.is_some()).collect()
    }

    fn deliver(&mut self, now: Time, count: u64) {
        self.reception_buffer.remove(&count);
        self.delivered_counts.insert(count);
        self.delivered.push((now, count));
    }

    fn deliver_consecutive(&mut self, now: Time, mut count: u64) {
        while self.reception_buffer.contains(&count) {
            self.deliver(now, count);
            count += 1;
        }
    }

    fn first_not_delivered(&self, mut count: u64) -> u64 {
        while self.delivered_counts.contains(&count) {
            count += 1;
        }
        count
    }
}
