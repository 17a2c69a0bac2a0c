//! The command line of `quiclab-tunnel`.

use clap::{Parser, Subcommand, ValueEnum};
use quiclab_tunnel::config;
use quiclab_tunnel::control_socket::ControlSocket;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Parser)]
#[command(
    name = "quiclab-tunnel",
    version,
    about = "A VPN over several paths, with FQ-CoDel in front of them",
    after_help = "Exit codes: 0 ended as asked, 1 failed, 2 wrong input, 3 this machine or the server does not suit."
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Makes a private key in a new file, and prints the public one.
    Keygen {
        /// The file.
        file: PathBuf,
    },
    /// Prints the public key of a private one.
    Pubkey {
        /// The file of the private key.
        file: PathBuf,
    },
    /// Sets a tunnel up, and carries packets until it is ended.
    Up {
        /// Its configuration.
        config: PathBuf,
        /// Check the configuration and exit.
        #[arg(long)]
        check: bool,
        /// Refuse a configuration whose `interface` is another: the systemd unit gives the name of its instance.
        #[arg(long, value_parser = config::interface_name)]
        interface: Option<String>,
        /// Form of the log on the standard error output.
        #[arg(long, value_enum)]
        log: Option<Log>,
    },
    /// Prints the JSON Schema of configurations.
    Schema,
    /// Prints the completions of a shell for this program.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Writes the manual pages of this program and its commands into a folder.
    Man {
        /// The folder.
        folder: PathBuf,
    },
    /// Tells what a running tunnel does.
    Status {
        #[command(flatten)]
        tunnel: Tunnel,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Shows what a running tunnel does, live: paths, rates, round trip times, losses, and the queue by flow. `q` ends it,
    /// arrows scroll.
    Top {
        #[command(flatten)]
        tunnel: Tunnel,
        /// Seconds between two pictures, from 0.1 to 3600.
        #[arg(long, default_value = "1", value_parser = interval)]
        interval: Duration,
        /// Print one picture as lines of text, and end. Without a terminal, lines are printed until the end.
        #[arg(long)]
        once: bool,
    },
    /// Lets a running tunnel read its configuration again.
    Reload {
        #[command(flatten)]
        tunnel: Tunnel,
    },
    /// Ends a running tunnel, or undoes what a killed one has left.
    Down {
        #[command(flatten)]
        tunnel: Tunnel,
        /// Let the kill switch go on: nothing leaves this machine before the next `up`.
        #[arg(long)]
        keep_kill_switch: bool,
    },
}

#[derive(clap::Args)]
pub struct Tunnel {
    /// Name of its device.
    #[arg(long, default_value = "qlt0", value_parser = config::interface_name)]
    pub interface: String,
    /// Its control socket, where that is not the usual one.
    #[arg(long)]
    socket: Option<PathBuf>,
}

impl Tunnel {
    pub fn socket(&self) -> ControlSocket {
        let usual = || ControlSocket::OfInterface(self.interface.clone());
        self.socket.clone().map_or_else(usual, ControlSocket::Named)
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Log {
    /// One JSON object for each line.
    Json,
    /// For people.
    Text,
}

/// A time in seconds on the command line.
fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("expected a number of seconds from 0.1 to 3600, got {text:?}"))
}
