//! The VPN of quiclab: IP packets in datagrams of QUIC over several paths, with FQ-CoDel in front of them.
//!
//! tunnel/docs/tunnel.md describes its use. The tunnel itself (discipline, scheduler, sending) is pure and is in
//! `quiclab-core`, QUIC in `quiclab-carrier`; this crate connects them to a machine:
//!
//! | module | |
//! | --- | --- |
//! | `config`, `keys`, `files` | configuration of the user, checked |
//! | `setup`, `system`, `privileges`, `confinement`, `installation` | changes of the machine, and their undoing; privileges of the program after them |
//! | `daemon` | the loop, sessions of a server, the client |
//! | `tun`, `sockets`, `uplinks` | packets in and out |
//! | `session`, `kept`, `pool`, `protocol` | peers, and their permissions |
//! | `requests`, `status`, `top`, `control_socket` | status and requests |

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
