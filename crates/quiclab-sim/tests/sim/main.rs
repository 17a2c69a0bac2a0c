//! Whole runs, a subject in each module. One program: every further one would link the stacks once more.

mod arrivals;
mod bbr_v3;
mod c4;
mod ecn;
mod event_loop;
mod events;
mod media_theory;
mod multipath;
mod plugins;
mod queues;
mod quic_theory;
mod run;
mod splitters;
mod starts;
mod tcp_theory;
mod tunnel;
mod whole_runs;
