//! Reason for which a connection was closed (RFC 9000 sections 10.2 and 20.1).

/// Error codes INTERNAL_ERROR and PROTOCOL_VIOLATION.
pub(super) const INTERNAL_ERROR: u64 = 0x01;
pub(super) const PROTOCOL_VIOLATION: u64 = 0x0a;

/// First reason, and error code of this end's CONNECTION_CLOSE.
#[derive(Clone, Debug, Default)]
pub(super) struct Closure {
    failure: Option<String>,
    code: u64,
    is_by_peer: bool,
}

impl Closure {
    /// Reason of a failure; `None`: the connection has not failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Error code of this end's CONNECTION_CLOSE.
    pub(super) const fn code(&self) -> u64 {
        self.code
    }

    /// Whether the peer's application has closed it.
    pub(super) const fn is_by_peer(&self) -> bool {
        self.is_by_peer
    }

    /// Records a failure; only the first reason is kept.
    pub(super) fn fail(&mut self, reason: impl FnOnce() -> String) {
        self.failure.get_or_insert_with(reason);
    }

    /// Records a failure with an error code for the peer.
    pub(super) fn fail_with(&mut self, code: u64, reason: impl FnOnce() -> String) {
        self.fail(reason);
        self.code = code;
    }

    /// Handles CONNECTION_CLOSE. NO_ERROR of the transport means a close by the application before it can
    /// send its own code (section 10.2.3).
    pub(super) fn on_closed_by_peer(&mut self, error_code: u64) {
        if error_code == 0 {
            self.is_by_peer = true;
        } else {
            self.fail(|| format!("closed by the peer with error {error_code:#x}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_counts() {
        let mut closure = Closure::default();
        closure.fail_with(PROTOCOL_VIOLATION, || "first".to_owned());
        closure.on_closed_by_peer(INTERNAL_ERROR);
        assert_eq!((closure.failure(), closure.code()), (Some("first"), PROTOCOL_VIOLATION));
        assert!(!closure.is_by_peer());
    }

    #[test]
    fn no_error_is_an_application_that_closes() {
        let mut closure = Closure::default();
        closure.on_closed_by_peer(0);
        assert_eq!((closure.is_by_peer(), closure.failure()), (true, None));
        closure.on_closed_by_peer(INTERNAL_ERROR);
        assert!(closure.failure().is_some());
    }
}
