//! Skbs of the application's writes that were not sent completely.

use std::collections::VecDeque;

/// Skb of the application's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skb {
    /// End of its data in the stream.
    pub(super) end: u64,
    /// Whether it has PSH: a write has ended with it, and no other has started in it since.
    pub(super) push: bool,
}

/// Written data, by positions in the stream. `next` of a method is the position of the next new byte, `goal`
/// the maximum payload of an skb.
#[derive(Clone, Debug)]
pub(super) struct WriteQueue {
    /// End of the data written by the application.
    written: u64,
    /// End of the written data at the last push (`pushed_seq`).
    pushed: u64,
    skbs: VecDeque<Skb>,
    is_finished: bool,
    /// Whether an skb that is to be sent is filled up with the data that follow it.
    fills_when_sent: bool,
}

impl WriteQueue {
    /// Makes an empty queue.
    pub(super) const fn new(fills_when_sent: bool) -> Self {
        Self { written: 1, pushed: 1, skbs: VecDeque::new(), is_finished: false, fills_when_sent }
    }

    /// End of the data written by the application.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// Position after all data to be sent, including FIN.
    pub(super) const fn end(&self) -> u64 {
        self.written + self.is_finished as u64
    }

    /// Whether FIN follows the last byte.
    pub(super) const fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Ends the stream: the application has written all data.
    pub(super) fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Number of skbs that were not sent completely.
    pub(super) fn len(&self) -> usize {
        self.skbs.len()
    }

    /// Whether at most one skb waits.
    pub(super) fn has_one_at_most(&self) -> bool {
        self.skbs.len() <= 1
    }

    /// Room in bytes of the last skb, or of a new one, and which of both.
    pub(super) fn free_in_tail(&self, next: u64, goal: u64) -> (u64, bool) {
        let start = match self.skbs.len() {
            0 => return (goal, true),
            1 => next,
            skbs => self.skbs[skbs - 2].end,
        };
        let free = goal.saturating_sub(self.written - start);
        if free > 0 { (free, false) } else { (goal, true) }
    }

    /// Starts a write: the skb that it fills first loses its PSH (`tcp_sendmsg_locked`: `if (!copied)`); a
    /// full one, after which it starts another, does not.
    pub(super) fn start_write(&mut self, next: u64, goal: u64) {
        let (_, new) = self.free_in_tail(next, goal);
        if let Some(tail) = self.skbs.back_mut().filter(|_| !new) {
            tail.push = false;
        }
    }

    /// Appends the data of one skb.
    pub(super) fn append(&mut self, bytes: u64, next: u64, goal: u64) {
        let (free, new) = self.free_in_tail(next, goal);
        debug_assert!(bytes <= free, "{bytes} bytes in an skb with room for {free}");
        let push = !new && self.skbs.pop_back().is_some_and(|tail| tail.push);
        self.written += bytes;
        self.skbs.push_back(Skb { end: self.written, push });
    }

    /// Ends a write: the last segment of the last skb carries PSH (`tcp_mark_push`).
    pub(super) fn end_write(&mut self) {
        self.pushed = self.written;
        if let Some(tail) = self.skbs.back_mut() {
            tail.push = true;
        }
    }

    /// Whether no data were written since the last push.
    pub(super) fn ends_write(&self) -> bool {
        self.pushed == self.written
    }

    /// Whether more than half of the peer's `largest_window` was written since the last push (`forced_push`).
    pub(super) fn is_push_forced(&self, largest_window: u64) -> bool {
        self.written > self.pushed + largest_window / 2
    }

    /// Remaining bytes of the first skb; 0 if there is none.
    pub(super) fn head(&self, next: u64) -> u64 {
        self.skbs.front().map_or(0, |skb| skb.end - next)
    }

    /// Fills the first skb up to `bytes` with data of the second one, as Linux does since 6.10 when it is to
    /// be sent; it keeps its PSH (`tcp_grow_skb`).
    pub(super) fn fill_head(&mut self, bytes: u64, next: u64) {
        let (Some(&head), Some(&second)) = (self.skbs.front(), self.skbs.get(1)) else { return };
        let end = head.end.max(next + bytes).min(second.end);
        if !self.fills_when_sent || end == head.end {
            return;
        }
        if end == second.end {
            self.skbs.pop_front();
            self.skbs[0].push |= head.push;
        } else {
            self.skbs[0].end = end;
        }
    }

    /// Handles data sent up to `end`. Returns the first skb if it ends there.
    pub(super) fn take_sent(&mut self, end: u64) -> Option<Skb> {
        let skb = self.skbs.front().copied().filter(|skb| skb.end == end)?;
        self.skbs.pop_front();
        Some(skb)
    }

    /// Skbs of the queue.
    #[cfg(test)]
    pub(super) fn skbs(&self) -> impl Iterator<Item = Skb> + '_ {
        self.skbs.iter().copied()
    }

    /// Truncates the written data to `end`.
    #[cfg(test)]
    pub(super) fn truncate(&mut self, end: u64) {
        self.skbs.retain(|skb| skb.end < end);
        if self.skbs.back().map_or(1, |skb| skb.end) < end {
            self.skbs.push_back(Skb { end, push: true });
        }
        (self.written, self.pushed) = (end, end);
    }

    /// Sets whether an skb that is to be sent is filled up.
    #[cfg(test)]
    pub(super) fn set_fills_when_sent(&mut self, fills: bool) {
        self.fills_when_sent = fills;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOAL: u64 = 4000;

    fn ends(queue: &WriteQueue) -> Vec<(u64, bool)> {
        queue.skbs().map(|skb| (skb.end, skb.push)).collect()
    }

    /// Queue after writes of 3, 3 and 4 kB.
    fn written(fills: bool) -> WriteQueue {
        let mut queue = WriteQueue::new(fills);
        for bytes in [3000, 1000, 2000, 2000, 2000] {
            queue.append(bytes, 1, GOAL);
        }
        queue.end_write();
        queue
    }

    #[test]
    fn writes_fill_skbs_up_to_the_goal() {
        let queue = written(true);
        assert_eq!(ends(&queue), [(4001, false), (8001, false), (10_001, true)]);
        assert_eq!(queue.free_in_tail(1, GOAL), (2000, false));
        assert_eq!((queue.head(1), queue.head(3001), queue.written()), (4000, 1000, 10_001));
    }

    #[test]
    fn a_write_takes_psh_from_the_skb_that_it_fills() {
        let mut queue = written(true);
        queue.start_write(1, GOAL);
        assert!(queue.skbs().all(|skb| !skb.push));
        queue.append(2000, 1, GOAL);
        queue.end_write();
        queue.start_write(1, GOAL);
        assert_eq!(ends(&queue)[2], (12_001, true), "it is full");
    }

    #[test]
    fn the_head_is_filled_with_what_follows() {
        let mut queue = written(true);
        queue.fill_head(6000, 1);
        assert_eq!(ends(&queue), [(6001, false), (8001, false), (10_001, true)]);
        queue.fill_head(20_000, 1);
        assert_eq!(ends(&queue), [(8001, false), (10_001, true)], "with the second one only");
        queue.fill_head(20_000, 1);
        assert_eq!(ends(&queue), [(10_001, true)]);
        let mut queue = written(false);
        queue.fill_head(6000, 1);
        assert_eq!(queue.head(1), 4000);
    }

    #[test]
    fn half_of_the_largest_window_forces_a_push() {
        let mut queue = written(true);
        assert!(queue.ends_write());
        queue.append(1000, 1, GOAL);
        assert!(!queue.ends_write() && queue.is_push_forced(1998) && !queue.is_push_forced(2000));
    }

    #[test]
    fn an_skb_is_taken_when_all_of_it_is_sent() {
        let mut queue = written(true);
        assert_eq!(queue.take_sent(3001), None);
        assert_eq!(queue.take_sent(4001), Some(Skb { end: 4001, push: false }));
        assert_eq!(queue.len(), 2);
        queue.finish();
        assert_eq!(queue.end(), 10_002);
    }
}
