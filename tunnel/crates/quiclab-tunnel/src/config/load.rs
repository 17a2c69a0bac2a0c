//! Loading of settings from a file: all errors are found before anything is changed on the machine.

#[cfg(not(feature = "connect-ip"))]
use super::connect_ip;
#[cfg(feature = "connect-ip")]
use super::connect_ip_files;
use super::{Config, VERSION, check, secrets, warnings};
use crate::files;
use crate::keys::{self, KeyError, Owners};
use crate::privileges::Account;
use quiclab_carrier::connect_ip::ConnectIpConfig;
use quiclab_carrier::{PublicKey, SecretKey};
use quiclab_config::{ConfigError, Document, Note, Schema};
use quiclab_core::problem::system_reason;
use quiclab_core::{FieldPath, Problem, ProblemKind};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Maximum length of a configuration: a thousand peers with all fields take half of it.
const MAX_BYTES: u64 = 1 << 20;

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Config>);

/// A configuration without errors, with its key.
pub struct Settings {
    /// The configuration as it was written.
    pub config: Config,
    /// This end's key.
    pub key: SecretKey,
    /// CONNECT-IP, if it is configured, with its certificates.
    pub connect_ip: Option<ConnectIpConfig>,
    /// Former names that were read.
    pub notes: Vec<Note>,
    /// Warnings about values that are valid but probably not intended, one sentence each.
    pub warnings: Vec<String>,
    /// Its file, for a reload.
    pub file: PathBuf,
}

/// The JSON Schema of configurations; fields with limits describe their values in words, as `x-expected`.
#[must_use]
pub fn schema() -> serde_json::Value {
    quiclab_config::annotated::<Config>()
}

/// Reads, decodes and checks the configuration in `file`, and reads its key.
///
/// # Errors
/// The first error, without key material.
pub fn load(file: &Path) -> Result<Settings, ConfigError> {
    // a user that does not exist is reported later, because it may exist elsewhere
    let becomes = |config: &Config| {
        let user = config.user.as_ref()?;
        Account::find(user, config.group.as_deref()).ok().map(|account| account.number())
    };
    load_with(file, |config| Owners::Trusted(becomes(config)))
}

/// Loads a configuration only to inspect it: private keys may belong to any user, as a unit may start it.
///
/// # Errors
/// As [`load`].
pub fn inspect(file: &Path) -> Result<Settings, ConfigError> {
    load_with(file, |_| Owners::Any)
}

fn load_with(file: &Path, owners: impl Fn(&Config) -> Owners) -> Result<Settings, ConfigError> {
    let name = file.display().to_string();
    let text = read_text(file)?;
    let loaded = read(&text, &name).and_then(|(document, config, notes)| {
        let owners = owners(&config);
        let key = read_key(file, &config, owners).map_err(|problem| document.locate(problem))?;
        let connect_ip = read_connect_ip(file, &config, &key, owners, None);
        let connect_ip = connect_ip.map_err(|problem| document.locate(problem))?;
        let warnings = warnings::warnings(&config);
        Ok(Settings { config, key, connect_ip, notes, warnings, file: file.to_owned() })
    });
    loaded.map_err(secrets::hide)
}

/// Configuration of CONNECT-IP for the endpoint, if there is one; for a reload, `before` is the current one.
#[cfg_attr(not(feature = "connect-ip"), allow(unused_variables))]
pub(super) fn read_connect_ip(
    file: &Path,
    config: &Config,
    key: &SecretKey,
    owners: Owners,
    before: Option<&ConnectIpConfig>,
) -> Result<Option<ConnectIpConfig>, Problem> {
    #[cfg(feature = "connect-ip")]
    return connect_ip_files::read(file, config, key, owners, before);
    #[cfg(not(feature = "connect-ip"))]
    connect_ip::absent(config)
}

/// Reads the text of a configuration.
pub(super) fn read_text(file: &Path) -> Result<String, ConfigError> {
    let unreadable = |reason: &str| {
        let reason = format!("cannot read {}: {reason}", file.display());
        ConfigError::from(Problem::new(ProblemKind::File, "", "").because(reason))
    };
    let bytes = files::read(file, MAX_BYTES).map_err(|error| unreadable(&system_reason(&error)))?;
    String::from_utf8(bytes).map_err(|_| unreadable("not text in UTF-8"))
}

/// Decodes and checks a text, without its key; `file` is its name in errors. Also returns the former names in it.
///
/// # Errors
/// The first error, without key material.
pub fn parse(text: &str, file: &str) -> Result<(Config, Vec<Note>), ConfigError> {
    let read = read(text, file).map_err(secrets::hide)?;
    Ok((read.1, read.2))
}

pub(super) fn read(text: &str, file: &str) -> Result<(Document, Config, Vec<Note>), ConfigError> {
    let mut document = Document::from_toml(text, file, &[])?;
    document.check_version("version", VERSION)?;
    let notes = document.replace_former_names(&SCHEMA).into_iter().map(secrets::hide_in_note).collect();
    let config: Config = document.decode(&SCHEMA)?;
    check::check(&config).map_err(|problem| document.locate(problem))?;
    Ok((document, config, notes))
}

/// Reads the private key of this end, which must not be the key of a peer.
fn read_key(file: &Path, config: &Config, owners: Owners) -> Result<SecretKey, Problem> {
    let key_file = file.parent().unwrap_or(Path::new("")).join(&config.key_file);
    let key = keys::read(&key_file, owners).map_err(|error: KeyError| {
        let remedy = error.remedy(&key_file);
        Problem::file(
            "key_file",
            if remedy.is_empty() { error.to_string() } else { format!("{error}; {remedy}") },
        )
    })?;
    match others(config).find(|(_, other)| *other == key.public()) {
        Some((path, _)) => {
            Err(Problem::conflict(path, "", "the public key of the peer").because("it is that of `key_file`"))
        }
        None => Ok(key),
    }
}

/// Public keys of the peers.
fn others(config: &Config) -> impl Iterator<Item = (FieldPath, PublicKey)> {
    let of_server = |client: &super::Client| {
        [("server_key", client.server_key), ("next_server_key", client.next_server_key)]
    };
    let of_peer = |peer: &super::Peer| {
        [("public_key", Some(peer.public_key)), ("next_public_key", peer.next_public_key)]
    };
    let server = config
        .client
        .iter()
        .flat_map(of_server)
        .map(|(name, key)| (FieldPath::from("client").child(name), key));
    let peers = config.server.iter().flat_map(|server| server.peers.iter().enumerate()).flat_map(
        move |(index, peer)| {
            of_peer(peer).map(|(name, key)| (FieldPath::from("server.peers").child(index).child(name), key))
        },
    );
    server.chain(peers).filter_map(|(path, key)| Some((path, key?)))
}
