//! The VPN of quiclab: IP packets in datagrams of QUIC over several paths, with FQ-CoDel in front of them.
//!
//! tunnel/docs/tunnel.md says how it is used. The tunnel itself (discipline, scheduler, sending) is pure and lives in
//! `quiclab-core`, QUIC in `quiclab-carrier`; this crate is what they need of a machine:
//!
//! | module | |
//! | --- | --- |
//! | `config`, `keys`, `files` | what the user writes, checked |
//! | `setup`, `system`, `privileges`, `confinement`, `installation` | what is changed on the machine, and undone; what the program may do then |
//! | `daemon` | the loop, sessions of a server, the client |
//! | `tun`, `sockets`, `uplinks` | packets in and out |
//! | `session`, `kept`, `pool`, `protocol` | the other ends, and what they may |
//! | `requests`, `status`, `top`, `control_socket` | what it tells, and how it is asked |

pub mod clock;
pub mod config;
pub mod confinement;
pub mod control_socket;
pub mod daemon;
pub mod files;
pub mod folders;
pub mod installation;
pub mod kept;
pub mod keys;
pub mod pool;
pub mod privileges;
pub mod protocol;
pub mod requests;
pub mod session;
pub mod setup;
pub mod sockets;
pub mod status;
pub mod system;
pub mod top;
pub mod tun;
pub mod uplinks;
