//! Loss recovery: RTT, loss detection, timers, and how the window shrinks meanwhile.

pub mod delivery_rate;
pub mod persistent;
pub mod prr;
pub mod pto;
pub mod rack;
pub mod rtt;
pub mod tcp_rtt;
pub mod threshold;
