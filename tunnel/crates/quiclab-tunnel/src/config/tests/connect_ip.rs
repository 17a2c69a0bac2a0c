//! Options of CONNECT-IP.

use super::*;

#[test]
fn errors_name_the_field_and_the_kind_of_connect_ip() {
    let table = "[server.connect_ip]\nlisten = [\"0.0.0.0:443\"]\ncertificate = \"s.pem\"\n[[server.peers]]";
    let server = server().replacen("[[server.peers]]", table, 1);
    assert!(read(&server).server.is_some_and(|server| server.connect_ip.is_some()));
    assert_problems(
        &server,
        &[
            ("0.0.0.0:443\"]", "0.0.0.0:4433\"]", "server.connect_ip.listen.0", Conflict, 8),
            ("[\"0.0.0.0:443\"]", "[]", "server.connect_ip.listen", OutOfRange, 8),
            (
                "\"0.0.0.0:443\"]",
                "\"0.0.0.0:443\", \"0.0.0.0:443\"]",
                "server.connect_ip.listen.1",
                Conflict,
                8,
            ),
            ("0.0.0.0:443\"]", "10.77.0.9:443\"]", "server.pool_ipv4", Conflict, 5),
            ("certificate =", "path = \"vpn\"\ncertificate =", "server.connect_ip.path", Conflict, 9),
            ("certificate =", "path = \"/v p n\"\ncertificate =", "server.connect_ip.path", OutOfRange, 9),
            ("certificate = \"s.pem\"", "", "server.connect_ip.certificate", MissingField, 7),
        ],
    );
    let table = "[client.connect_ip]\nhost = \"vpn.example\"\ncertificate = \"c.pem\"\n[[client.paths]]";
    let client = client().replacen("[[client.paths]]", table, 1);
    let (one, _) = client.rsplit_once("[[client.paths]]").unwrap();
    let config = read(one);
    assert!(!config.numbers_packets() && config.client.is_some_and(|client| client.connect_ip.is_some()));
    assert_problems(&client, &[("c.pem", "c.pem", "client.paths", Conflict, 9)]);
    assert_problems(
        one,
        &[
            ("vpn.example", "-", "client.connect_ip.host", Conflict, 7),
            ("vpn.example", "vpn example", "client.connect_ip.host", OutOfRange, 7),
            ("host =", "authorities = \"ca.pem\"\nhost =", "client.connect_ip.authorities", Conflict, 7),
            ("version = 1", "version = 1\ncarrier = \"multipath\"", "carrier", Conflict, 2),
            (&format!("server_key = \"{KEY}\"\n"), "", "client.server_key", MissingField, 3),
        ],
    );
    assert!(
        parse(
            &one.replacen(&format!("server_key = \"{KEY}\""), "", 1).replacen(
                "host =",
                "authorities = \"ca.pem\"\nhost =",
                1
            ),
            "t.toml"
        )
        .is_ok()
    );
}

#[test]
fn a_build_without_the_feature_refuses_it_in_a_sentence_that_names_the_feature() {
    let server_table =
        "[server.connect_ip]\nlisten = [\"0.0.0.0:443\"]\ncertificate = \"s.pem\"\n[[server.peers]]";
    let server = server().replacen("[[server.peers]]", server_table, 1);
    let client_table =
        "[client.connect_ip]\nhost = \"vpn.example\"\ncertificate = \"c.pem\"\n[[client.paths]]";
    let client = client().replacen("[[client.paths]]", client_table, 1);
    let (client, _) = client.rsplit_once("[[client.paths]]").unwrap();
    for (text, field) in [(&*server, "server.connect_ip"), (client, "client.connect_ip")] {
        let (config, _) = parse(text, "t.toml").unwrap();
        let refused = crate::config::connect_ip::absent(&config).expect_err("it is refused").to_string();
        assert!(refused.contains(&format!("{field}: not supported by")), "{refused}");
        assert!(refused.contains("--features connect-ip") && !refused.contains('\n'), "{refused}");
    }
}

#[cfg(feature = "connect-ip")]
#[test]
fn certificates_are_read_with_their_keys() {
    let directory = std::env::temp_dir().join(format!("quiclab-tunnel-certificates-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let config = directory.join("s.toml");
    let table = "[server.connect_ip]\nlisten = [\"0.0.0.0:443\"]\ncertificate = \"s.pem\"\n[[server.peers]]";
    std::fs::write(&config, server().replacen("[[server.peers]]", table, 1)).unwrap();
    crate::keys::generate(&directory.join("server.key")).unwrap();
    let refused = || load(&config).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        refused().contains("server.connect_ip.certificate: ") && refused().contains("No such file"),
        "{}",
        refused()
    );
    std::fs::write(directory.join("s.pem"), "nothing").unwrap();
    assert!(refused().contains("no `CERTIFICATE` is in it"), "{}", refused());
    std::fs::write(directory.join("s.pem"), "-----BEGIN CERTIFICATE-----\nMAAB\n-----END CERTIFICATE-----\n")
        .unwrap();
    assert!(refused().contains("not usable with its key"), "{}", refused());
    std::fs::remove_dir_all(&directory).unwrap();
}
