//! Keys: hidden in errors, and permissions of their file.

use super::*;

#[test]
fn keys_do_not_appear_in_errors() {
    // the private key of RFC 8410, as hexadecimal digits, with separators, in PEM
    let digits = "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842";
    let parted: Vec<_> = (0..64).step_by(2).map(|at| &digits[at..at + 2]).collect();
    let base64 = "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC";
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{base64}\n-----END PRIVATE KEY-----\n");
    let keys =
        [digits.to_owned(), parted.join(":"), parted.join(" "), digits[..62].to_owned(), base64.to_owned()];
    let mut texts =
        vec![pem.clone(), pem.replace('\n', "\r\n"), format!("{base64} = 1"), format!("[{base64}]")];
    for key in &keys {
        for (from, to) in [
            (KEY.to_owned(), format!("{key}0")),
            (format!("\"{KEY}\""), format!("\"\"\"\n{key}0\"\"\"")),
            (format!("\"{KEY}\""), key.clone()),
            (format!("\"{KEY}\""), format!("[\"{key}\"]")),
            ("[client]".to_owned(), format!("private_key = \"{key}\"\n[client]")),
            ("[client]".to_owned(), format!("private_key = [\n  \"{key}\",\n  \\\n]\n[client]")),
            ("[client]".to_owned(), format!("secret = {{ a = \"{key}\" }}\n[client]")),
            ("[client]".to_owned(), format!("peers = [{{ public_key = \"{key}\" }}]\n[client]")),
        ] {
            texts.push(client().replacen(&from, &to, 1));
        }
    }
    for key in [digits, base64] {
        texts.push(client().replacen("::/0", key, 1));
        texts.push(client().replacen("[client]", &format!("user = [\"nobody\", \"{key}\"]\n[client]"), 1));
        texts.push(client().replacen("[client]", &format!("\"{key}\" = 1\n[client]"), 1));
    }
    for text in texts {
        let error = parse(&text, "t.toml").expect_err("it is wrong");
        for shown in [error.to_string(), error.render(false), format!("{error:?}")] {
            for key in [digits, &parted.join(":"), &parted.join(" "), base64] {
                let parts = (0..key.len() - 12).map(|at| &key[at..at + 12]);
                assert_eq!(parts.into_iter().find(|part| shown.contains(part)), None, "{shown}");
            }
        }
    }
}

#[test]
fn the_line_of_a_hidden_key_is_marked_in_its_place() {
    let shown = error(&client(), "[client]", &format!("private_key = \"{KEY}\"\n[client]")).render(false);
    let masked = format!("3 | private_key = \"{}\"", "*".repeat(64));
    assert!(shown.contains(&masked) && shown.contains("--> t.toml:3:1"), "{shown}");
    let path = error(&client(), "eth0", "/run/quiclab-tunnel/qlt0").render(false);
    assert!(
        path.contains("interface = \"/run/quiclab-tunnel/qlt0\""),
        "a line without a key is shown: {path}"
    );
}

#[test]
fn a_comment_behind_a_hidden_key_is_shown() {
    for (comment, is_shown) in
        [("# of the old server", true), ("# password = \"hunter2\"", false), (&format!("# {KEY}"), false)]
    {
        let line = format!("private_key = \"{KEY}\" {comment}\n[client]");
        let shown = error(&client(), "[client]", &line).render(false);
        assert_eq!(shown.contains(comment), is_shown, "{shown}");
        assert!(!shown.contains(KEY) && !shown.contains("hunter2"), "{shown}");
    }
    // text that is not certainly a comment is hidden
    for value in ["\"\"\"a # secret", "hunter # secret", "\"a\\\" # secret\""] {
        let shown = error(&client(), "[client]", &format!("psk = {value}\n[client]")).render(false);
        assert!(!shown.contains("secret"), "{shown}");
    }
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = std::env::temp_dir().join(format!("quiclab-tunnel-test-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (config, key) = (directory.join("s.toml"), directory.join("server.key"));
    std::fs::write(&config, server()).unwrap();
    let refused = || load(&config).err().map(|error| error.to_string());
    assert!(refused().unwrap().contains("s.toml:2:12: key_file: \"server.key\": No such file or directory; create it with `quiclab-tunnel keygen "));
    let public = crate::keys::generate(&key).unwrap();
    assert!(refused().is_none());
    assert!(crate::keys::generate(&key).is_err(), "a key is not overwritten");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let readable = refused().unwrap();
    assert!(
        readable.contains("key_file: \"server.key\": accessible to other users (mode 640); run `chmod 600 ")
    );
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&config, server().replace(KEY, &public.to_string())).unwrap();
    let own = refused().unwrap();
    assert!(
        own.contains("server.peers.0.public_key: ") && own.ends_with("it is that of `key_file`"),
        "{own}"
    );
    std::fs::remove_file(&config).unwrap();
    assert!(refused().unwrap().starts_with("cannot read "));
    std::fs::remove_dir_all(&directory).unwrap();
}
