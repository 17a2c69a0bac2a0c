//! Reason for which a connection was closed (RFC 9000 sections 10.2 and 20.1).

/// INTERNAL_ERROR and PROTOCOL_VIOLATION.
pub(super) const INTERNAL_ERROR: u64 = 0x01;
pub(super) const PROTOCOL_VIOLATION: u64 = 0x0a;

/// The first reason, and the error code of this end's CONNECTION_CLOSE.
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

    /// The peer's application has closed it.
    pub(super) const fn is_by_peer(&self) -> bool {
        self.is_by_peer
    }

    /// The connection fails, for the first time or again.
    pub(super) fn fail(&mut self, reason: impl FnOnce() -> String) {
        self.failure.get_or_insert_with(reason);
    }

    /// The same, and the peer is told an error code.
    pub(super) fn fail_with(&mut self, code: u64, reason: impl FnOnce() -> String) {
        self.fail(reason);
        self.code = code;
    }

    /// CONNECTION_CLOSE arrives. NO_ERROR of the transport is the application's: it closes before it can say so (section
    /// 10.2.3).
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
