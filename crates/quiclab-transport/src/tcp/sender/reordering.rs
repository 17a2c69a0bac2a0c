//! Tolerance of reordering (`tp->reordering`), which grows with observed reordering.

/// Tolerated reordering in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reordering {
    usual: u32,
    max: u32,
    segments: u32,
    is_seen: bool,
}

impl Reordering {
    /// Starts with the `usual` tolerance (`sysctl_tcp_reordering`), which grows to `max`.
    pub(super) const fn new(usual: u32, max: u32) -> Self {
        Self { usual, max, segments: usual, is_seen: false }
    }

    /// Tolerance in segments.
    pub(super) const fn segments(&self) -> u32 {
        self.segments
    }

    /// Tolerance of a new connection, in segments.
    pub(super) const fn usual(&self) -> u32 {
        self.usual
    }

    /// Whether reordering was observed.
    pub(super) const fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// Sets the tolerance of an earlier connection.
    pub(super) fn set(&mut self, segments: u32) {
        self.segments = segments;
    }

    /// Handles observed reordering of an `extent` in segments (`tcp_check_sack_reordering`).
    pub(super) fn on_observed(&mut self, extent: u32) {
        if extent > self.segments {
            self.segments = extent.min(self.max);
        }
        self.is_seen = true;
    }

    /// Reduces the tolerance after a timeout despite many duplicates: it was overestimated.
    pub(super) fn on_timeout(&mut self, sacked: u32) {
        if sacked >= self.usual {
            self.segments = self.segments.min(self.usual);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tolerance_grows_to_the_extent_and_falls_with_a_timeout() {
        let mut reordering = Reordering::new(3, 300);
        reordering.on_observed(2);
        assert!(reordering.is_seen());
        assert_eq!(reordering.segments(), 3);
        reordering.on_observed(7);
        assert_eq!(reordering.segments(), 7);
        reordering.on_observed(500);
        assert_eq!(reordering.segments(), 300);
        reordering.on_timeout(2);
        assert_eq!(reordering.segments(), 300, "few duplicates");
        reordering.on_timeout(3);
        assert_eq!(reordering.segments(), 3);
    }
}
