//! Loss recovery: RTT, loss detection, timers, and reduction of the window meanwhile.

pub mod delivery_rate;
pub mod persistent;
pub mod prr;
pub mod pto;
pub mod rack;
pub mod rtt;
pub mod tcp_rtt;
pub mod threshold;
