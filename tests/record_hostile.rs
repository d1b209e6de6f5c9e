//! What somebody else wrote, or a disk spoiled, gives a typed error and no panic.

use sampler_chain::{Mt19937, Record};

/// A header's line, padded.
fn line(json: &str) -> Vec<u8> {
    let mut line = json.as_bytes().to_vec();
    while !(line.len() + 1).is_multiple_of(4) {
        line.push(b' ');
    }
    line.push(b'\n');
    line
}

const CHAIN: &str = r#""chain":{"version":1,"steps":[{"type":"greedy"}]},"program":"p""#;

fn header() -> Vec<u8> {
    line(&format!("{{\"sampler_chain_record\":1,\"n_vocab\":4,\"seed\":1,{CHAIN}}}"))
}

/// A frame with a right checksum, whatever it says.
fn frame(kind: &[u8; 4], words: &[u32]) -> Vec<u8> {
    let mut frame = kind.to_vec();
    frame.extend((words.len() as u32).to_le_bytes());
    words.iter().for_each(|word| frame.extend(word.to_le_bytes()));
    frame.extend(crc(&frame).to_le_bytes());
    frame
}

/// CRC-32 bit by bit, so that the reader is not checked against itself.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

fn json_frame(kind: &[u8; 4], json: &str) -> Vec<u8> {
    let padded = format!("{json}{}", " ".repeat(json.len().next_multiple_of(4) - json.len()));
    let words: Vec<u32> = padded.as_bytes().as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
    frame(kind, &words)
}

fn error(bytes: Vec<u8>) -> String {
    Record::from_bytes(bytes).unwrap_err().to_string()
}

#[test]
fn headers_that_cannot_be() {
    let of = |json: &str| error(line(json));
    assert_eq!(
        error(b"{\"version\": 1}\n".to_vec()),
        "record: this is no record: it does not begin with {\"sampler_chain_record\":"
    );
    assert_eq!(error(Vec::new()), "record: the header is cut: 0 bytes, and no end of its line");
    assert_eq!(
        of(r#"{"sampler_chain_record":2,"anything":[]}"#),
        "record: version 2 of records is not known; this is version 1"
    );
    let with = |n_vocab: &str, seed: &str| {
        of(&format!("{{\"sampler_chain_record\":1,\"n_vocab\":{n_vocab},\"seed\":{seed},{CHAIN}}}"))
    };
    assert_eq!(with("0", "1"), "record: the header: n_vocab is 0: a vocabulary has tokens");
    assert!(with("-5", "1").starts_with("record: the header: invalid value: integer `-5`, expected u32"));
    assert!(with("4294967296", "1").starts_with("record: the header: invalid value: integer `4294967296`"));
    assert!(with("1e30", "1").starts_with("record: the header: invalid type: floating point"));
    assert!(with("4", "-1").starts_with("record: the header: invalid value: integer `-1`, expected u32"));
    assert!(with("\"4\"", "1").starts_with("record: the header: invalid type: string \"4\", expected u32"));
    assert!(of(r#"{"sampler_chain_record":1}"#).starts_with("record: the header: missing field `seed`"));
    assert!(of(r#"{"sampler_chain_record":1"#).starts_with("record: the header: EOF while parsing"));
    assert!(of(r#"{"sampler_chain_record":-1}"#).starts_with("record: the header: invalid value: integer `-1`"));
    let nested = "[".repeat(100_000) + &"]".repeat(100_000);
    let deep = of(&format!("{{\"sampler_chain_record\":1,\"seed\":1,\"chain\":{nested}}}"));
    assert!(deep.starts_with("record: the header: recursion limit exceeded"), "{deep}");
    let mut odd = header();
    odd.insert(30, b' ');
    assert!(error(odd).ends_with(" bytes, and a multiple of 4 is wanted"));
    // No line of a header is that long, and none is looked for.
    let endless = [&b"{\"sampler_chain_record\":"[..], &vec![b' '; 1 << 25][..]].concat();
    assert!(error(endless).ends_with(" bytes, and no end of its line"));
}

/// The largest vocabulary is only a number until a row is that wide.
#[test]
fn a_large_number_takes_no_memory() {
    let huge = line(&format!("{{\"sampler_chain_record\":1,\"n_vocab\":4294967295,\"seed\":1,{CHAIN}}}"));
    let record = Record::from_bytes(huge.clone()).unwrap();
    assert_eq!((record.n_vocab(), record.n_draws()), (Some(4_294_967_295), 0));
    assert!(record.sampler(None).is_ok());
    let draw = frame(b"DRAW", &[0, 0, u32::MAX]);
    assert!(error([huge.clone(), draw].concat()).ends_with("a draw of 3 words cannot hold a row of 4294967295 logits"));
    // A frame that says it goes on for 16 GiB is one that was cut.
    let long = [&b"PRMT"[..], &u32::MAX.to_le_bytes(), &[0; 40]].concat();
    let record = Record::from_bytes([huge, long].concat()).unwrap();
    assert_eq!(record.cut().unwrap().bytes, 48);
}

#[test]
fn frames_that_cannot_be() {
    let header = header();
    let at = header.len();
    let of = |frame: Vec<u8>| {
        let told = error([header.clone(), frame].concat());
        told.strip_prefix(&format!("record: frame 0, byte {at}: ")).map(String::from).unwrap_or(told)
    };
    assert_eq!(of(frame(b"XXXX", &[])), "\"XXXX\" is no kind of frame in version 1");
    let mut spoiled = frame(b"PRMT", &[1]);
    spoiled[8] ^= 2;
    assert_eq!(of(spoiled), "it is damaged: its CRC-32 is another");
    assert_eq!(of(frame(b"PRMT", &[1, 4])), "token 4 is beyond the vocabulary of 4 tokens");
    assert_eq!(of(frame(b"ACPT", &[u32::MAX])), "token 4294967295 is beyond the vocabulary of 4 tokens");
    assert_eq!(of(frame(b"DRAW", &[0, 0])), "a draw without a row");
    assert_eq!(of(frame(b"DRAW", &[0, 3, 4, 0, 0, 0, 0])), "3 is no way to mask a row: 0, 1 and 2 are");
    assert_eq!(of(frame(b"DRAW", &[0, 0, 2, 0, 0])), "the row has 2 logits, and the vocabulary 4 tokens");
    assert_eq!(of(frame(b"DRAW", &[4, 0, 4, 0, 0, 0, 0])), "token 4 is beyond the vocabulary of 4 tokens");
    assert_eq!(of(frame(b"DRAW", &[0, 0, 4, 0])), "a draw of 4 words cannot hold a row of 4 logits");
    assert_eq!(of(frame(b"DRAW", &[0, 1, 4, 0, 0, 0, 0])), "a draw of 7 words cannot hold a row of 4 logits");
    assert_eq!(of(frame(b"BACK", &[1])), "it takes more tokens back than the 0 that are accepted");
    assert_eq!(of(frame(b"BACK", &[])), "it has 0 words, and is of another length");
    assert_eq!(of(frame(b"RSET", &[1])), "it has 1 words, and is of another length");
    assert_eq!(of(json_frame(b"PARM", "{}")), "the parameters: missing field `chain` at line 1 column 2");
    assert_eq!(of(json_frame(b"STAT", "[1]")), "the state: expected value at line 1 column 2");
    assert!(of(frame(b"PARM", &[u32::MAX])).starts_with("the parameters: expected value"));
}

/// A program in another language writes by the page: fields at their defaults are left out, and DRY's digests unknown.
#[test]
fn a_record_written_by_the_page() {
    let header = line(
        r#"{"sampler_chain_record":1,"n_vocab":4,"seed":1,"chain":{"version":1,"steps":[{"type":"top_k","k":1},{"type":"dry"},{"type":"dist"}]},"by":"hand"}"#,
    );
    let row = [1.0_f32, 3.0, 2.0, 0.0].map(f32::to_bits);
    let draw = |token: u32| frame(b"DRAW", &[&[token, 0, 4][..], &row].concat());
    let changed = r#"{"chain":{"version":1,"steps":[{"type":"top_k","k":2},{"type":"dry"},{"type":"dist"}]}}"#;
    let frames = [frame(b"PRMT", &[3]), draw(1), frame(b"ACPT", &[1]), json_frame(b"PARM", changed), draw(1)];
    let record = Record::from_bytes([vec![header], frames.to_vec()].concat().concat()).unwrap();
    let drawn: Vec<_> = record.replay(record.sampler(None).unwrap()).map(|draw| draw.unwrap().drawn).collect();
    assert_eq!(drawn[0], Ok(1));
    assert!(drawn[1] == Ok(1) || drawn[1] == Ok(2), "one of the two best: {drawn:?}");
    let mut led = record.sampler(None).unwrap();
    record.lead(&mut led, 1).unwrap();
    assert_eq!(led.sample(&[1.0, 3.0, 2.0, 0.0]), drawn[1]);
    let k = serde_json::to_value(led.chain()).unwrap()["steps"][0]["k"].clone();
    assert_eq!(k, 2, "the change was followed");
    assert!(record.parameters_at(0).changes(record.parameters_at(1)).len() == 1);
}

/// What is read may still not be what a sampler can follow.
#[test]
fn a_record_that_cannot_be_replayed() {
    let replayed = |frames: &[Vec<u8>]| {
        let record = Record::from_bytes([vec![header()], frames.to_vec()].concat().concat()).unwrap();
        let last = record.replay(record.sampler(None).unwrap()).last();
        last.unwrap().unwrap_err().to_string()
    };
    let draw = frame(b"DRAW", &[0, 0, 4, 0, 0, 0, 0]);
    let other = r#"{"chain":{"version":1,"steps":[{"type":"gredy"}]}}"#;
    assert!(
        replayed(&[json_frame(b"PARM", other), draw.clone()])
            .starts_with("frame 0: the parameters change to some that cannot be taken over: the chain: chain:1:")
    );
    let state = r#"{"non_finite":"refuse","snapshot":{"version":7,"seed":1,"chain":{"steps":[{"type":"greedy"}]},"dry_breakers":[],"history":[],"n_prompt":9,"state":[]}}"#;
    assert_eq!(
        replayed(&[draw.clone(), json_frame(b"STAT", state)]),
        "frame 1: version 7 of snapshots is not known; this is version 1"
    );
    let beyond = state.replace(":7", ":1").replace("\"history\":[]", "\"history\":[9]");
    assert_eq!(
        replayed(&[json_frame(b"STAT", &beyond), draw]),
        "frame 0: the snapshot's history: token 9 is beyond the vocabulary of 4 tokens"
    );
}

/// Bytes that nobody wrote, after a good header and some good frames: read or refused, and never a panic.
#[test]
fn random_bytes() {
    let mut rng = Mt19937::new(20_260_101);
    let kinds = [b"PRMT", b"DRAW", b"ACPT", b"BACK", b"RSET", b"PARM", b"STAT"];
    let (mut n_read, mut n_refused) = (0, 0);
    for _ in 0..8_000 {
        let mut bytes = header();
        for _ in 0..rng.next_u32() % 4 {
            // Half of the frames are draws of the right width, half of what is left has any length.
            let (kind, n_words) = match rng.next_u32() % 4 {
                0 | 1 => (b"DRAW", 7),
                2 => (b"ACPT", rng.next_u32() as usize % 3),
                _ => (kinds[rng.next_u32() as usize % kinds.len()], rng.next_u32() as usize % 9),
            };
            let mut words: Vec<u32> = (0..n_words).map(|_| rng.next_u32() % 4).collect();
            if kind == b"DRAW" && n_words > 2 && !rng.next_u32().is_multiple_of(4) {
                words.splice(1..3, [rng.next_u32() % 2, 4]);
            }
            bytes.extend(frame(kind, &words));
        }
        if rng.next_u32().is_multiple_of(3) {
            bytes.extend((0..rng.next_u32() % 40).map(|_| rng.next_u32() as u8));
        }
        if rng.next_u32().is_multiple_of(4) {
            let i = rng.next_u32() as usize % bytes.len();
            bytes[i] = rng.next_u32() as u8;
        }
        match Record::from_bytes(bytes) {
            Err(error) => {
                assert!(error.to_string().starts_with("record: "));
                n_refused += 1;
            }
            Ok(record) => {
                n_read += 1;
                for draw in 0..=record.n_draws() {
                    let _ = (record.history(draw), record.accepted(draw), record.parameters_at(draw));
                    assert_eq!(record.draw(draw).map(|draw| draw.row().len()), (draw < record.n_draws()).then_some(4));
                }
                if let Ok(sampler) = record.sampler(None) {
                    record.replay(sampler).for_each(drop);
                }
            }
        }
    }
    assert!(n_read > 1000 && n_refused > 1000, "{n_read} read, {n_refused} refused");
}

/// A draw's length is known once there is a vocabulary: a wrong one is damage, and no end that mending may cut off.
#[test]
fn a_damaged_length_is_no_cut() {
    let draw = |token: u32| frame(b"DRAW", &[token, 0, 4, 0, 1, 2, 3]);
    let mut bytes = [header(), draw(1), draw(2)].concat();
    assert_eq!(Record::from_bytes(bytes.clone()).unwrap().n_draws(), 2);
    let last = bytes.len() - draw(2).len();
    bytes[last + 7] = 0x7f;
    let told = Record::from_bytes(bytes).unwrap_err().to_string();
    assert!(told.contains("it is damaged: a draw of this vocabulary has 7 words, not 2130706439"), "{told}");
}
