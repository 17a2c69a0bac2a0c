//! Answers to requests: the status, metrics, and the end of the tunnel.

use super::Daemon;
use crate::requests::Request;
use crate::status::{ProgramCounts, Status};
use quiclab_core::Time;

/// Field of the answer to `reload` with the changes; on failure, [`REFUSED`] has the reason.
pub const RELOADED: &str = "reloaded";
/// Answer to `down` and `stop` when everything is undone; any other answer is the reason for a failure.
pub const ENDED: &str = "ended";
/// See [`RELOADED`].
pub const REFUSED: &str = "error";

impl Daemon {
    /// The answer to a request.
    pub(super) fn answer(&mut self, now: Time, request: Request) -> String {
        match request {
            Request::Status => serde_json::to_string(&self.status(now)).unwrap_or_default(),
            Request::Metrics => self.status(now).open_metrics(),
            Request::Reload => {
                let (field, sentence) = match self.reload(now) {
                    Ok(sentence) => (RELOADED, sentence),
                    Err(sentence) => (REFUSED, sentence),
                };
                serde_json::json!({ field: sentence }).to_string()
            }
            Request::Down => {
                self.machine.lift_kill_switch();
                self.end = Some(Ok(()));
                String::new()
            }
            Request::Stop => {
                self.end = Some(Ok(()));
                String::new()
            }
        }
    }

    fn status(&mut self, now: Time) -> Status {
        let names: Vec<String> = self
            .config
            .client
            .iter()
            .flat_map(|client| &client.paths)
            .map(|path| path.name.clone())
            .collect();
        let endpoint = &mut self.endpoint;
        let sessions =
            self.sessions.values_mut().map(|session| session.status(now, endpoint, &names)).collect();
        let counts = ProgramCounts {
            tun: self.tun.counts,
            udp: self.sockets.counts,
            strangers: self.endpoint.strangers(),
            homeless: self.homeless,
            isolated: self.isolated,
            refused: self.refused,
            parked: self.parked.len() as u64,
            connections: self.endpoint.connections() as u64,
        };
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            role: self.role().to_owned(),
            interface: self.config.interface.clone(),
            uptime_seconds: now.as_ms_f64() / 1e3,
            values: counts.values().collect(),
            sessions,
        }
    }
}
