//! Loss recovery: RTT, loss detection, timers, and how the window shrinks meanwhile.

pub mod delivery_rate;
pub mod prr;
pub mod rack;
pub mod tcp_rtt;
pub mod persistent;
pub mod pto;
pub mod rtt;
pub mod threshold;
