//! `quiclab-tunnel`: see tunnel/docs/tunnel.md.

mod command_line;

use clap::{CommandFactory, Parser};
use command_line::{Arguments, Command, Log, Tunnel};
use quiclab_config::ConfigError;
use quiclab_core::problem::system_reason;
use quiclab_tunnel::control_socket::{ControlSocket, make_printable, printable};
use quiclab_tunnel::daemon::{self, DaemonError};
use quiclab_tunnel::keys::Owners;
use quiclab_tunnel::setup::Undone;
use quiclab_tunnel::status::Status;
use quiclab_tunnel::{config, keys, setup, top};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Keygen { file } => keygen(&file),
        Command::Pubkey { file } => pubkey(&file),
        Command::Top { tunnel, interval, once } => top(&tunnel, interval, once),
        Command::Up { config, check, interface, log } => up(&config, check, interface.as_deref(), log),
        Command::Schema => schema(),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "quiclab-tunnel", &mut io::stdout());
            Ok(())
        }
        Command::Man { folder } => man(&folder),
        Command::Status { tunnel, json } => status(&tunnel, json),
        Command::Reload { tunnel } => reload(&tunnel),
        Command::Down { tunnel, keep_kill_switch } => down(&tunnel, keep_kill_switch),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { sentence, code }) => {
            if !sentence.is_empty() {
                let _ = writeln!(io::stderr(), "{sentence}");
            }
            ExitCode::from(code)
        }
    }
}

/// Exit code of a failure after the start: another start may succeed.
const FAILED: u8 = 1;
/// Exit code of invalid input, which is also that of clap: another start does not help.
const WRONG_INPUT: u8 = 2;
/// Exit code of a failure that persists unless this machine or the server changes.
const UNSUITABLE: u8 = 3;

/// Failure of a command, as displayed; without a message if the log has it.
struct Failure {
    sentence: String,
    code: u8,
}

impl From<String> for Failure {
    fn from(sentence: String) -> Self {
        Self { sentence: format!("quiclab-tunnel: {sentence}"), code: FAILED }
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        let code = if error.is_permanent() { UNSUITABLE } else { FAILED };
        Self { code, ..error.to_string().into() }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self { sentence: error.render(io::stderr().is_terminal()), code: WRONG_INPUT }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(system_reason(&error).into()),
        _ => Ok(()),
    }
}

fn keygen(file: &Path) -> Result<(), Failure> {
    let public = keys::generate(file).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure {
            code: WRONG_INPUT,
            ..format!("{} exists; keys are not overwritten, choose another file", file.display()).into()
        },
        ErrorKind::NotFound | ErrorKind::NotADirectory => Failure {
            code: WRONG_INPUT,
            ..format!("cannot write {}: {}", file.display(), system_reason(&error)).into()
        },
        _ => format!("cannot write {}: {}", file.display(), system_reason(&error)).into(),
    })?;
    print(&format!("{public}\n"))
}

fn pubkey(file: &Path) -> Result<(), Failure> {
    let key = keys::read(file, Owners::Any).map_err(|error| {
        let remedy = error.remedy(file);
        let remedy = if remedy.is_empty() { remedy } else { format!("; {remedy}") };
        Failure { code: WRONG_INPUT, ..format!("{}: {error}{remedy}", file.display()).into() }
    })?;
    print(&format!("{}\n", key.public()))
}

fn schema() -> Result<(), Failure> {
    let schema = serde_json::to_string_pretty(&config::schema()).expect("a schema has string keys only");
    print(&format!("{schema}\n"))
}

/// End of each manual page, after the sections from the command line (man-pages(7)).
const MANUAL_END: &str = "\
.SH FILES
.TP
.I /etc/quiclab\\-tunnel/NAME.toml
Configuration of the tunnel with the device NAME that the unit quiclab\\-tunnel@NAME starts.
.TP
.I /run/quiclab\\-tunnel/NAME/control.sock
Control socket of a running tunnel.
.TP
.I /run/quiclab\\-tunnel/NAME/journal.json
What has to be undone after a kill.
.SH SEE ALSO
.BR ip (8),
.BR nft (8),
.BR systemctl (1),
.BR wg (8);
/usr/share/doc/quiclab\\-tunnel of the Debian package
";

/// Writes a page for the program and for each of its commands, for section 8: administration.
fn man(folder: &Path) -> Result<(), Failure> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let pages = std::iter::once(command.clone()).chain(command.get_subcommands().cloned());
    for page in pages {
        let title = page.get_display_name().unwrap_or_else(|| page.get_name()).to_owned();
        let mut text = Vec::new();
        let page = clap_mangen::Man::new(page.display_name(&title)).title(title.to_uppercase()).section("8");
        page.render(&mut text).map_err(|error| system_reason(&error))?;
        text.extend(MANUAL_END.as_bytes());
        let file = folder.join(format!("{title}.8"));
        std::fs::write(&file, text)
            .map_err(|error| format!("cannot write {}: {}", file.display(), system_reason(&error)))?;
    }
    Ok(())
}

/// Reads a configuration. An error about its key includes a remedy, which must not be applied to a running tunnel.
fn load(file: &Path) -> Result<config::Settings, Failure> {
    config::load(file).map_err(|error| {
        let inspected = config::inspect(file).ok();
        let running =
            inspected.and_then(|settings| setup::check_not_running(&settings.config.interface).err());
        running.map_or_else(|| error.into(), |running| DaemonError::from(running).into())
    })
}

fn up(file: &Path, check: bool, interface: Option<&str>, log: Option<Log>) -> Result<(), Failure> {
    let settings = if check { config::inspect(file)? } else { load(file)? };
    let found = &settings.config.interface;
    if let Some(expected) = interface.filter(|expected| expected != found) {
        let sentence = format!(
            "{}: interface: expected \"{expected}\", as `--interface` says (the systemd unit quiclab-tunnel@NAME gives NAME), got \"{found}\"",
            file.display()
        );
        return Err(Failure { code: WRONG_INPUT, ..sentence.into() });
    }
    if check {
        for note in &settings.notes {
            let _ = writeln!(io::stderr(), "{}", note.render(io::stderr().is_terminal()));
        }
        for warning in settings.warnings.iter().chain(&setup::other_kill_switches(found)) {
            let _ = writeln!(io::stderr(), "note: {warning}");
        }
        return print(&format!("{}: valid\n", file.display()));
    }
    let json = match log {
        Some(Log::Json) => true,
        Some(Log::Text) => false,
        None => !io::stderr().is_terminal(),
    };
    // a line that cannot be written is lost: reporting that on a full disk would panic
    let subscriber = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(tracing::Level::INFO)
        .log_internal_errors(false);
    if json {
        subscriber.json().flatten_event(true).init();
    } else {
        subscriber.with_ansi(io::stderr().is_terminal()).init();
    }
    for note in &settings.notes {
        tracing::warn!("{note}");
    }
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    daemon::run(&settings).map_err(|error| {
        let failure = Failure::from(error);
        if !json {
            return failure;
        }
        // the last line is also JSON
        tracing::error!("{}", failure.sentence);
        Failure { sentence: String::new(), ..failure }
    })
}

/// Maximum time for an answer of a tunnel; it takes milliseconds unless it hangs. An end first undoes all changes.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_FOR_END: Duration = Duration::from_secs(60);

fn top(tunnel: &Tunnel, interval: Duration, once: bool) -> Result<(), Failure> {
    let socket = tunnel.socket();
    let ask = || {
        let answer = socket.ask("status\n", PATIENCE).map_err(|error| not_running(&socket, &error))?;
        decoded(&answer)
    };
    top::run(interval, once, ask).map_err(|error| error.to_string().into())
}

fn value(answer: &str) -> Result<serde_json::Value, String> {
    let mut value: serde_json::Value = serde_json::from_str(answer).map_err(|error| not_valid(&error))?;
    make_printable(&mut value);
    Ok(value)
}

fn decoded(answer: &str) -> Result<Status, String> {
    serde_json::from_value(value(answer)?).map_err(|error| not_valid(&error))
}

fn not_valid(error: &serde_json::Error) -> String {
    printable(&format!("the answer of the tunnel is not valid: {error}"))
}

fn status(tunnel: &Tunnel, json: bool) -> Result<(), Failure> {
    let socket = tunnel.socket();
    let answer = socket.ask("status\n", PATIENCE).map_err(|error| not_running(&socket, &error))?;
    if json {
        return print(&format!("{}\n", printable(&answer)));
    }
    print(&decoded(&answer)?.table())
}

fn not_running(socket: &ControlSocket, error: &io::Error) -> String {
    let socket = socket.path();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            format!("no tunnel answers at {}", socket.display())
        }
        ErrorKind::PermissionDenied => {
            format!("cannot use {}: run as root or as the user of the tunnel", socket.display())
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("no answer in time at {}: the tunnel hangs or is stopped", socket.display())
        }
        _ => format!("{}: {}", socket.display(), system_reason(error)),
    }
}

fn reload(tunnel: &Tunnel) -> Result<(), Failure> {
    let socket = tunnel.socket();
    let answer = socket.ask("reload\n", PATIENCE).map_err(|error| not_running(&socket, &error))?;
    let answer = value(&answer)?;
    match (answer[daemon::RELOADED].as_str(), answer[daemon::REFUSED].as_str()) {
        (Some(sentence), _) => print(&format!("{sentence}\n")),
        (None, sentence) => {
            let sentence = format!("nothing has changed: {}", sentence.unwrap_or("no reason given"));
            Err(Failure { code: WRONG_INPUT, ..sentence.into() })
        }
    }
}

fn down(tunnel: &Tunnel, keep_kill_switch: bool) -> Result<(), Failure> {
    let socket = tunnel.socket();
    match socket.ask(if keep_kill_switch { "stop\n" } else { "down\n" }, PATIENCE_FOR_END) {
        Ok(answer) => {
            // changes that it could not undo as a user other than root
            let undone = setup::clean(&tunnel.interface, keep_kill_switch);
            match undone {
                // the process itself has reported that nothing is left
                Err(error) if error.is_not_permitted() && answer == daemon::ENDED => Ok(()),
                Err(error) if answer.is_empty() || answer == daemon::ENDED => Err(error.to_string().into()),
                Err(_) => Err(printable(&answer).into()),
                Ok(_) => Ok(()),
            }
        }
        // it was killed
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            let undone = setup::clean(&tunnel.interface, keep_kill_switch);
            let Undone { changes, kill_switch } = undone.map_err(|error| error.to_string())?;
            // the unit runs this after each end: a kill switch may be the only change
            if changes == 0 && !kill_switch && !keep_kill_switch {
                return Err(not_running(&socket, &error).into());
            }
            if changes > 0 {
                print(&format!("reverted the changes of a killed tunnel: {changes}\n"))?;
            }
            if kill_switch { print("kill switch removed\n") } else { Ok(()) }
        }
        Err(error) => Err(not_running(&socket, &error).into()),
    }
}
