//! Connections of packets that the tests protect, and the samples of RFC 9001 and RFC 9369.

use super::super::Problems;
use super::super::key_log::KeyLog;
use super::super::key_log::Secret;
use super::connection::{Connection, Opened, Tools, Undecrypted};
use super::header::{Invariant, Version};
use super::ids::Owner;
use super::keys::{HeaderKey, PacketKey, Suite, Unmasked, initial_secrets, updated};
use super::payload::Found;
use super::secrets::SecretStore;

const RANDOM: [u8; 32] = [0x5a; 32];
const CLIENT: Secret = Secret::Short([1; 32]);
const SERVER: Secret = Secret::Short([2; 32]);
const DESTINATION: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
/// Connection IDs that the endpoints choose.
const CLIENT_ID: [u8; 5] = [0xc; 5];
const SERVER_ID: [u8; 9] = [0x5; 9];

fn begins_connection(payload: &[u8]) -> bool {
    Invariant::of(payload).is_some_and(|header| header.is_quic(payload))
}

fn client_initial(version: Version, destination: &[u8]) -> Secret {
    initial_secrets(version, destination)[0]
}

fn bytes(digits: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(digit).collect()
}

/// Protects a packet: `header` ends in the packet number, whose last bytes are those of `number`.
fn sealed(
    version: Version,
    suite: Suite,
    secrets: [&Secret; 2],
    header: &[u8],
    number: u64,
    payload: &[u8],
) -> Vec<u8> {
    sealed_on(0, version, suite, secrets, header, number, payload)
}

/// Protects a packet on a path.
fn sealed_on(
    path: u32,
    version: Version,
    suite: Suite,
    secrets: [&Secret; 2],
    header: &[u8],
    number: u64,
    payload: &[u8],
) -> Vec<u8> {
    let mut packet = header.to_vec();
    let length = usize::from(header[0] & 3) + 1;
    packet.extend(payload);
    let key = PacketKey::new(version, suite, secrets[1]);
    let tag = key.seal(header, path, number, &mut packet[header.len()..]);
    packet.extend(tag);
    HeaderKey::new(version, suite, secrets[0]).protect(&mut packet, header.len() - length, length);
    packet
}

/// A 1-RTT packet with a packet number of two bytes.
fn short(secret: &Secret, id: &[u8], number: u64, payload: &[u8]) -> Vec<u8> {
    phased([secret, secret], false, id, number, payload)
}

fn phased(secrets: [&Secret; 2], phase: bool, id: &[u8], number: u64, payload: &[u8]) -> Vec<u8> {
    let header = [&[0x41 | u8::from(phase) << 2], id, &(number as u16).to_be_bytes()].concat();
    sealed(Version::One, Suite::of(secrets[0])[0], secrets, &header, number, payload)
}

fn long(
    number: u32,
    first: u8,
    destination: &[u8],
    source: &[u8],
    secret: &Secret,
    payload: &[u8],
) -> Vec<u8> {
    let version = Version::of(number).unwrap();
    let mut header = [&[first], &number.to_be_bytes()[..], &[destination.len() as u8], destination].concat();
    header.extend([&[source.len() as u8], source].concat());
    if first & 0x30 == if version == Version::Two { 0x10 } else { 0 } {
        header.push(0); // no token
    }
    // number of one byte, payload, tag
    header.extend((0x4000 | (1 + payload.len() as u16 + 16)).to_be_bytes());
    header.push(0);
    sealed(version, Suite::Aes128, [secret, secret], &header, 0, payload)
}

/// An Initial of the client with these bytes of its hello.
fn initial(number: u32, destination: &[u8], pieces: &[(usize, usize)], random: [u8; 32]) -> Vec<u8> {
    let hello = [&[1, 0, 1, 0, 3, 3], &random[..], &[0; 60]].concat();
    let mut payload = Vec::new();
    for &(from, to) in pieces {
        payload.extend([6, from as u8, (to - from) as u8]);
        payload.extend(&hello[from..to]);
        payload.push(0);
    }
    let version = Version::of(number).unwrap();
    let first = if version == Version::Two { 0xd0 } else { 0xc0 };
    long(number, first, destination, &CLIENT_ID, &client_initial(version, destination), &payload)
}

fn log() -> KeyLog {
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text = format!(
        "CLIENT_TRAFFIC_SECRET_0 {random} {}\nSERVER_TRAFFIC_SECRET_0 {random} {}\n\
         CLIENT_EARLY_TRAFFIC_SECRET {random} {}\n",
        digits(&[1; 32]),
        digits(&[2; 32]),
        digits(&[3; 32]),
        random = digits(&RANDOM)
    );
    KeyLog::read(text.as_bytes(), "keys").unwrap()
}

/// A connection with its resources.
struct Bench<'k> {
    connection: Connection,
    secrets: SecretStore<'k>,
    found: Found,
    scratch: Vec<u8>,
    problems: Problems,
}

impl<'k> Bench<'k> {
    fn new(log: &'k KeyLog) -> Self {
        let secrets = SecretStore::new(log, KeyLog::default());
        let (found, scratch, problems) = Default::default();
        Self { connection: Connection::new(), secrets, found, scratch, problems }
    }

    /// A connection whose ClientHello has been read.
    fn greeted(log: &'k KeyLog) -> Self {
        let mut bench = Self::new(log);
        let opened = bench.read(false, &initial(1, &DESTINATION, &[(0, 60)], RANDOM));
        assert_eq!(opened == Opened::Readable, log.connections() > 0);
        let first = long(1, 0xe0, &CLIENT_ID, &SERVER_ID, &SERVER, &[1, 0, 0, 0]);
        bench.read(true, &first);
        bench
    }

    fn read(&mut self, backward: bool, datagram: &[u8]) -> Opened {
        self.read_of(backward, datagram, None)
    }

    /// Reads a datagram whose connection ID was issued.
    fn read_of(&mut self, backward: bool, datagram: &[u8], owner: Option<Owner>) -> Opened {
        let mut tools = Tools {
            secrets: &mut self.secrets,
            found: &mut self.found,
            scratch: &mut self.scratch,
            problems: &mut self.problems,
        };
        self.connection.datagram(backward, datagram, true, owner, &mut tools)
    }

    /// Exhausts the budget of trial decryption.
    fn spend_all(&mut self) {
        for budget in [&mut self.secrets.budget, &mut self.secrets.initial_budget] {
            assert!(!budget.spend(usize::MAX));
        }
    }

    /// Packet numbers in a datagram; empty if it is opaque.
    fn numbers(&mut self, backward: bool, datagram: &[u8]) -> Vec<u64> {
        match self.read(backward, datagram) {
            Opened::Readable => self.found.numbers.iter().map(|packet| packet.number).collect(),
            Opened::Opaque => Vec::new(),
        }
    }
}

#[test]
fn client_initial_of_rfc_9001_appendix_a_2() {
    let Secret::Short(secret) = client_initial(Version::One, &DESTINATION) else { panic!() };
    assert_eq!(secret.to_vec(), bytes("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea"));
    let mut payload = bytes(concat!(
        "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868",
        "04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578",
        "616d706c652e636f6dff01000100000a00080006001d00170018001000070005",
        "04616c706e000500050100000000003300260024001d00209370b2c9caa47fba",
        "baf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b000302030400",
        "0d0010000e0403050306030203080408050806002d00020101001c0002400100",
        "3900320408ffffffffffffffff05048000ffff07048000ffff08011001048000",
        "75300901100f088394c8f03e51570806048000ffff",
    ));
    payload.resize(1162, 0);
    let header = bytes("c300000001088394c8f03e5157080000449e00000002");
    let secret = Secret::Short(secret);
    let packet = sealed(Version::One, Suite::Aes128, [&secret, &secret], &header, 2, &payload);
    // beginning and authentication tag of the protected packet as printed
    assert_eq!(
        packet[..38],
        bytes("c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9b")
    );
    assert_eq!(packet[1184..], bytes("e221af44860018ab0856972e194cd934"));
    assert!(begins_connection(&packet));

    let random = "ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c";
    let log = format!("CLIENT_TRAFFIC_SECRET_0 {random} {}", "01".repeat(32));
    let log = KeyLog::read(log.as_bytes(), "keys").unwrap();
    let mut bench = Bench::new(&log);
    assert_eq!(bench.read(false, &packet), Opened::Readable, "its random is in the key log");
    assert_eq!(bench.connection.name(), "8394c8f03e515708");
    assert_eq!(bench.numbers(false, &short(&CLIENT, &[], 0, &[1, 0, 0])), [0]);
}

#[test]
fn chacha20_packets_of_rfc_9001_appendix_a_5_and_rfc_9369_appendix_a_5() {
    let secret = bytes("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
    let secret = Secret::Short(secret.try_into().unwrap());
    for (version, packet) in [
        (Version::One, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb"),
        (Version::Two, "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba"),
    ] {
        let packet = bytes(packet);
        let unmasked = HeaderKey::new(version, Suite::ChaCha20, &secret).unmask(&packet, 1).unwrap();
        assert_eq!(unmasked, Unmasked { first: 0x42, at: 1, length: 3, number: 0xbff4 });
        let number = unmasked.expanded(Some(654_360_560));
        assert_eq!(number, 654_360_564);
        let mut scratch = Vec::new();
        assert!(PacketKey::new(version, Suite::ChaCha20, &secret).open(
            &packet,
            &unmasked,
            (0, number),
            &mut scratch
        ));
        assert_eq!(scratch[4..], [1], "a PING frame");
        assert!(!PacketKey::new(version, Suite::ChaCha20, &CLIENT).open(
            &packet,
            &unmasked,
            (0, number),
            &mut scratch
        ));
    }
}

#[test]
fn packet_numbers_of_rfc_9000_appendix_a_3() {
    let unmasked = |length, number| Unmasked { first: 0, at: 0, length, number };
    // "if the highest successfully authenticated packet had a packet number of 0xa82f30ea, then a packet containing a
    // 16-bit value of 0x9b32 will be decoded as 0xa82f9b32"
    assert_eq!(unmasked(2, 0x9b32).expanded(Some(0xa82f_30ea)), 0xa82f_9b32);
    // around the limits of windows: 258 is expected; 0xff is nearer as 255, 0x90 as 400 - 256 = 144 or as
    // 400?
    assert_eq!(unmasked(1, 0xff).expanded(Some(257)), 255);
    // 0x90 = 144: 256 + 144 = 400 is 142 after 258, more than half a window; 144 is 114 before it
    assert_eq!(unmasked(1, 0x90).expanded(Some(257)), 144);
    assert_eq!(unmasked(1, 1).expanded(Some(254)), 257);
    assert_eq!(unmasked(1, 0xff).expanded(None), 255);
}

#[test]
fn what_frames_say_of_acknowledgements() {
    let log = log();
    let mut bench = Bench::greeted(&log);
    // largest 9, delay 0, two ranges, first of 9 - 1 = 8 to 9; then gap 1: 8 - 1 - 2 = 5, length 2: 3 to 5
    let ack = [2, 9, 0, 1, 1, 1, 2];
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 0, &[&ack[..], &[0; 4]].concat())), [0]);
    let ranges: Vec<_> = bench.found.ranges.iter().map(|range| range.numbers.clone()).collect();
    assert_eq!(ranges, [3..=5, 8..=9]);
    assert!(bench.found.has_ack && !bench.found.eliciting);
    // an ACK_FREQUENCY frame (its type in two bytes), and an ACK after it
    let frequency = [0x40, 0xaf, 0, 10, 0x40, 0x50, 1];
    let both = [&frequency[..], &ack].concat();
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 1, &both)), [1]);
    assert!(bench.found.has_ack && bench.found.eliciting);
    // TIME_STAMP of picoquic (0x02f5), which is not ack-eliciting, and an ACK after it
    let stamped = [&[0x42, 0xf5, 0x80, 0, 1, 0][..], &ack].concat();
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 3, &stamped)), [3]);
    assert!(bench.found.has_ack && !bench.found.eliciting);
    // an unknown frame hides the frames after it
    let unknown = [&[0x40, 0xfe][..], &ack].concat();
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 2, &unknown)), [2]);
    assert!(!bench.found.has_ack && bench.found.eliciting && bench.found.ranges.is_empty());
    let problems: Vec<_> = bench.problems.iter().collect();
    assert_eq!(problems, [("QUIC frame not known", 1)]);
    let note = bench.found.unknown_note().unwrap();
    assert!(note.starts_with("QUIC frames of types 0xfe are not known here"), "{note}");
}

/// ACK_MP and MP_NEW_CONNECTION_ID of earlier drafts with path ID 2^32: no path has it, least of all path 0.
#[test]
fn path_ids_beyond_the_largest() {
    let log = log();
    let mut bench = Bench::greeted(&log);
    let path = [0xc0, 0, 0, 1, 0, 0, 0, 0];
    let ack_mp = [&[0x80, 0xba, 0xba, 0][..], &path, &[9, 0, 0, 0], &[2, 5, 0, 0, 1]].concat();
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 0, &ack_mp)), [0]);
    let ranges: Vec<_> = bench.found.ranges.iter().map(|range| (range.path, range.numbers.clone())).collect();
    assert_eq!(ranges, [(0, 4..=5)]);
    let new_id = [&[0x95, 0x22, 0x8c, 9][..], &path, &[0, 0, 4, 7, 7, 7, 7], &[0; 16], &[1]].concat();
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 1, &new_id)), [1]);
    assert_eq!(bench.found.sender_lengths(), 0);
    assert_eq!(bench.problems.iter().collect::<Vec<_>>(), [("QUIC frame not well formed", 2)]);
}

#[test]
fn hellos_in_pieces_and_in_any_order() {
    let log = log();
    let mut bench = Bench::new(&log);
    assert_eq!(bench.read(false, &initial(1, &DESTINATION, &[(20, 60), (0, 7)], RANDOM)), Opened::Opaque);
    assert_eq!(bench.read(false, &initial(1, &DESTINATION, &[(6, 20)], RANDOM)), Opened::Readable);
    // after a Retry, destination and keys change
    let mut bench = Bench::new(&log);
    assert_eq!(bench.read(false, &initial(1, &DESTINATION, &[(0, 9)], RANDOM)), Opened::Opaque);
    assert_eq!(bench.read(false, &initial(1, &SERVER_ID, &[(0, 40)], RANDOM)), Opened::Readable);
    assert_eq!(bench.connection.name(), "8394c8f03e515708", "the first one");
}

#[test]
fn versions() {
    let log = log();
    for number in
        [1, 0x6b33_43cf, 0xff00_001b, 0xff00_001c, 0xff00_001d, 0xff00_0020, 0xff00_0021, 0xff00_0022]
    {
        let mut bench = Bench::new(&log);
        let packet = initial(number, &DESTINATION, &[(0, 40)], RANDOM);
        assert!(begins_connection(&packet), "{number:#x}");
        assert_eq!(bench.read(false, &packet), Opened::Readable, "{number:#x}");
    }
    let mut other = initial(1, &DESTINATION, &[(0, 40)], RANDOM);
    other[4] = 3;
    assert!(!begins_connection(&other), "version 3");
    assert!(!begins_connection(&initial(1, &DESTINATION, &[(0, 40)], RANDOM)[..19]), "cut within its IDs");
}

#[test]
fn zero_rtt_and_coalesced_packets() {
    let log = log();
    let mut bench = Bench::new(&log);
    let early = long(1, 0xd0, &DESTINATION, &CLIENT_ID, &Secret::Short([3; 32]), &[1, 0, 0, 0]);
    let datagram = [initial(1, &DESTINATION, &[(0, 60)], RANDOM), early, vec![0; 50]].concat();
    assert_eq!(bench.numbers(false, &datagram), [0]);
    let handshake = long(1, 0xe0, &CLIENT_ID, &SERVER_ID, &SERVER, &[1, 0, 0, 0]);
    let datagram = [handshake, short(&SERVER, &CLIENT_ID, 7, &[1, 0, 0])].concat();
    assert_eq!(bench.numbers(true, &datagram), [7]);
}

#[test]
fn key_updates_with_packets_out_of_order() {
    let log = log();
    let mut bench = Bench::greeted(&log);
    let ping = [1, 0, 0];
    let second = updated(Version::One, &SERVER);
    let third = updated(Version::One, &second);
    // header protection keeps its key
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 1, &ping)), [1]);
    assert_eq!(bench.numbers(true, &phased([&SERVER, &second], true, &CLIENT_ID, 3, &ping)), [3]);
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 2, &ping)), [2], "from before the update");
    assert_eq!(bench.numbers(true, &phased([&SERVER, &second], true, &CLIENT_ID, 4, &ping)), [4]);
    assert_eq!(bench.numbers(true, &phased([&SERVER, &third], false, &CLIENT_ID, 5, &ping)), [5]);
    assert_eq!(bench.numbers(true, &phased([&SERVER, &second], true, &CLIENT_ID, 6, &ping)), [6]);
    assert_eq!(bench.numbers(true, &phased([&SERVER, &CLIENT], true, &CLIENT_ID, 7, &ping)), [] as [u64; 0]);
}

#[test]
fn connection_ids_of_another_length() {
    let log = log();
    let mut bench = Bench::greeted(&log);
    assert_eq!(bench.numbers(false, &short(&CLIENT, &SERVER_ID, 0, &[1, 0, 0])), [0]);
    let other = [9; 14];
    assert_eq!(
        bench.numbers(false, &short(&CLIENT, &other, 1, &[1, 0, 0])),
        [] as [u64; 0],
        "nobody gave it out"
    );
    let token = [0; 16];
    let given = [&[0x18, 1, 0, 14], &other[..], &token].concat();
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 0, &given)), [0]);
    assert_eq!(bench.numbers(false, &short(&CLIENT, &other, 1, &[1, 0, 0])), [1]);
    assert_eq!(bench.numbers(false, &short(&CLIENT, &SERVER_ID, 2, &[1, 0, 0])), [2]);
}

#[test]
fn a_connection_whose_beginning_was_not_captured() {
    let log = log();
    let mut bench = Bench::new(&log);
    // two bytes of the number, and the capture begins in the second window
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 70_000, &[1, 0, 0])), [70_000]);
    assert_eq!(bench.numbers(false, &short(&CLIENT, &SERVER_ID, 66_000, &[1, 0, 0])), [66_000]);
    assert_eq!(bench.connection.undecrypted(&bench.secrets), None);

    // no secret fits: bounded, and reported
    let mut bench = Bench::new(&log);
    for number in 0..30 {
        let packet = short(&Secret::Short([7; 32]), &CLIENT_ID, number, &[1, 0, 0]);
        assert_eq!(bench.read(true, &packet), Opened::Opaque);
    }
    assert_eq!(bench.connection.undecrypted(&bench.secrets), Some(Undecrypted::NoHandshake));
    assert_eq!(bench.problems.iter().collect::<Vec<_>>(), [("QUIC packet not decrypted", 30)]);
}

/// All attempts after the first one for a packet cost budget: lengths of IDs, paths, keys of an Initial.
#[test]
fn what_is_tried_is_bounded() {
    let log = log();
    let mut bench = Bench::greeted(&log);
    let (ping, other) = ([1, 0, 0], [9; 14]);
    assert_eq!(bench.numbers(false, &short(&CLIENT, &SERVER_ID, 0, &ping)), [0]);
    let given = [&[0x18, 1, 0, 14], &other[..], &[0; 16]].concat();
    assert_eq!(bench.numbers(true, &short(&SERVER, &CLIENT_ID, 0, &given)), [0]);
    bench.spend_all();
    assert_eq!(bench.numbers(false, &short(&CLIENT, &other, 1, &ping)), [] as [u64; 0], "another length");
    assert_eq!(
        bench.numbers(false, &short(&CLIENT, &SERVER_ID, 2, &ping)),
        [2],
        "the length of the last one"
    );

    // a path that is identified by the sequence number of its ID: tried once
    let of_path = |path: u32, number: u64| {
        let header = [&[0x41], &SERVER_ID[..], &(number as u16).to_be_bytes()].concat();
        sealed_on(path, Version::One, Suite::Aes128, [&CLIENT, &CLIENT], &header, number, &ping)
    };
    let owner = Owner { flow: 0, of_first: false, length: SERVER_ID.len() as u8, path: 0, sequence: 3 };
    let mut bench = Bench::greeted(&log);
    assert_eq!(bench.read_of(false, &of_path(3, 5), Some(owner)), Opened::Readable);
    bench.spend_all();
    assert_eq!(bench.read_of(false, &of_path(3, 6), Some(owner)), Opened::Readable);
    assert_eq!(bench.found.numbers[0].path, 3);
    let mut bench = Bench::greeted(&log);
    bench.spend_all();
    assert_eq!(bench.read_of(false, &of_path(3, 5), Some(owner)), Opened::Opaque);

    // of another version: keys are derived again
    let mut bench = Bench::new(&log);
    bench.read(false, &initial(1, &DESTINATION, &[(0, 9)], RANDOM));
    bench.spend_all();
    assert_eq!(bench.read(false, &initial(0x6b33_43cf, &DESTINATION, &[(9, 60)], RANDOM)), Opened::Opaque);
}

#[test]
fn why_nothing_is_decrypted() {
    let (log, empty) = (log(), KeyLog::default());
    let mut without = Bench::greeted(&empty);
    without.read(false, &short(&CLIENT, &SERVER_ID, 0, &[1, 0, 0]));
    assert_eq!(without.connection.undecrypted(&without.secrets), Some(Undecrypted::NoSecrets));

    let mut other = Bench::new(&log);
    other.read(false, &initial(1, &DESTINATION, &[(0, 60)], [6; 32]));
    other.read(false, &short(&CLIENT, &SERVER_ID, 0, &[1, 0, 0]));
    assert_eq!(other.connection.undecrypted(&other.secrets), Some(Undecrypted::OtherConnections));

    let mut wrong = Bench::greeted(&log);
    wrong.read(false, &short(&SERVER, &SERVER_ID, 0, &[1, 0, 0]));
    assert_eq!(wrong.connection.undecrypted(&wrong.secrets), Some(Undecrypted::WrongSecrets));
}

/// Initial packets that begin a connection, after one that is known.
#[test]
fn what_begins_a_connection() {
    let log = log();
    let mut scratch = Vec::new();
    let mut continues = |bench: &mut Bench<'_>, datagram: &[u8]| {
        let long = super::header::long(datagram).unwrap();
        bench.connection.continues(&long, &mut bench.secrets.initial_budget, &mut scratch)
    };
    let mut bench = Bench::new(&log);
    bench.read(false, &initial(1, &DESTINATION, &[(0, 60)], [6; 32]));
    assert!(!continues(&mut bench, &initial(1, &[4; 8], &[(0, 60)], RANDOM)), "another hello");
    assert!(
        continues(&mut bench, &initial(1, &SERVER_ID, &[(0, 60)], [6; 32])),
        "the same hello, after a Retry"
    );
    assert!(
        continues(&mut bench, &initial(0x6b33_43cf, &[4; 8], &[(0, 60)], RANDOM)),
        "after Version Negotiation"
    );
    let of_server = long(1, 0xc0, &CLIENT_ID, &SERVER_ID, &SERVER, &[1, 0, 0, 0]);
    assert!(continues(&mut bench, &of_server), "its keys do not follow from its destination");
    // the server has answered: a Retry is no longer possible
    bench.read(true, &long(1, 0xe0, &CLIENT_ID, &SERVER_ID, &SERVER, &[1, 0, 0, 0]));
    let another = initial(0x6b33_43cf, &[4; 8], &[(0, 60)], RANDOM);
    assert!(!continues(&mut bench, &another));
    bench.spend_all();
    assert!(continues(&mut bench, &another), "its keys may not be made any more");
}
