//! Validation of the client's address, and the limit on bytes sent before it (RFC 9000 section 8.1).

/// Bytes of UDP payload in both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressValidation {
    /// Whether the address is validated: clients regard servers as validated; gQUIC has no such limit.
    is_validated: bool,
    received: u64,
    sent: u64,
}

impl AddressValidation {
    /// Makes the state before anything is sent or received.
    pub(super) const fn new(is_validated: bool) -> Self {
        Self { is_validated, received: 0, sent: 0 }
    }

    /// Marks the address as validated.
    pub(super) fn validate(&mut self) {
        self.is_validated = true;
    }

    /// Handles a received datagram.
    pub(super) fn on_received(&mut self, bytes: u64) {
        self.received += bytes;
    }

    /// Handles a packet that is sent.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Whether anything was sent.
    pub(super) const fn has_sent(&self) -> bool {
        self.sent > 0
    }

    /// Maximum size of a datagram of at most `full` bytes: `factor` times the total bytes received, less
    /// those sent; factor 0: no limit.
    pub(super) fn room(&self, full: u64, factor: u64) -> u64 {
        if self.is_validated || factor == 0 {
            return full;
        }
        full.min((factor * self.received).saturating_sub(self.sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_times_the_bytes_received_until_the_address_is_validated() {
        let mut address = AddressValidation::new(false);
        assert_eq!(address.room(1500, 3), 0);
        address.on_received(1200);
        assert_eq!((address.room(1500, 3), address.room(1500, 0)), (1500, 1500));
        address.on_sent(2400);
        assert!(address.has_sent());
        assert_eq!(address.room(1500, 3), 1200);
        address.on_sent(1200);
        assert_eq!(address.room(1500, 3), 0);
        address.validate();
        assert_eq!(address.room(1500, 3), 1500);
    }
}
