//! Records keep every bit, go on where they ended, and lose nothing but a frame that was never whole.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sampler_chain::record::{Frame, Header, Masking, Parameters, mend};
use sampler_chain::steps::{Dist, Greedy, MirostatV2, Temperature, TopK};
use sampler_chain::{Chain, ChainFile, Ctx, Format, LogitsFile, NonFinite, Record, Recorded, Recorder, Sampler};

fn chain() -> Chain {
    Chain::new().with(TopK { k: 3 }).with(Temperature::new(0.8)).with(Dist::default())
}

fn sampler() -> Sampler {
    Sampler::from_chain(chain(), Ctx::new(42).with_n_vocab(4)).unwrap()
}

fn row(i: usize) -> [f32; 4] {
    [0.5, i as f32 * 0.25, -1.5, 1.0 / (i as f32 + 1.0)]
}

/// A path that is gone with the guard.
fn path(name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    (dir, path)
}

/// Draws and accepts rows from `from` up to `to`.
fn draw<W: Write>(sampler: &mut Recorded<W>, from: usize, to: usize) {
    for i in from..to {
        let token = sampler.sample(&row(i)).unwrap();
        sampler.accept(token).unwrap();
    }
}

/// A small record with a prompt and two draws.
fn small() -> Vec<u8> {
    let mut sampler = Recorded::new(Recorder::new(Vec::new(), &sampler()).unwrap(), sampler());
    sampler.accept_prompt_all(&[3, 1]).unwrap();
    draw(&mut sampler, 0, 2);
    sampler.into_parts().1.into_inner()
}

fn text(error: &dyn std::error::Error, path: &Path) -> String {
    error.to_string().replace(&path.display().to_string(), "run.record")
}

#[test]
fn every_bit_comes_back() {
    let odd = [f32::from_bits(0x7fc1_2345), -0.0, f32::NEG_INFINITY, f32::from_bits(1)];
    let mut recorder = Recorder::new(Vec::new(), &sampler()).unwrap();
    recorder.prompt(&[0, 3]).unwrap();
    recorder.draw(&odd, 3).unwrap();
    recorder.accept(2).unwrap();
    recorder.rewind(1).unwrap();
    recorder.draw_masked(&row(1), 1, Masking::Redraw, |token| token != 3).unwrap();
    recorder.reset().unwrap();
    recorder.prompt(&[]).unwrap();
    let record = Record::from_bytes(recorder.into_inner()).unwrap();

    let draw = record.draw(0).unwrap();
    assert_eq!((draw.token, draw.masking, draw.mask()), (3, Masking::None, None));
    assert_eq!(draw.row().map(f32::to_bits).collect::<Vec<_>>(), odd.map(f32::to_bits));
    let draw = record.draw(1).unwrap();
    let mask = draw.mask().unwrap();
    assert_eq!([0, 1, 2, 3, 4].map(|token| mask.allows(token)), [true, true, true, false, false]);
    let mut copied = vec![9.0];
    record.row(1, &mut copied).unwrap();
    assert_eq!(copied, row(1));
    assert!(record.draw(2).is_none() && record.row(2, &mut copied).is_none());

    let kinds: Vec<String> = record
        .frames()
        .map(|frame| match frame {
            Frame::Draw(draw) => format!("draw {}", draw.token),
            frame => format!("{frame:?}").to_lowercase(),
        })
        .collect();
    assert_eq!(kinds, ["prompt([0, 3])", "draw 3", "accept([2])", "rewind(1)", "draw 1", "reset"]);
    assert_eq!((record.prompt(), record.accepted(0), record.accepted(1)), (vec![0, 3], vec![2], vec![]));
    assert_eq!(record.history(1).tokens(), [0, 3]);
    assert!(record.history(2).tokens().is_empty() && !record.is_cut());
}

#[test]
fn the_first_line_tells_what_it_is_of() {
    let (_dir, path) = path("run.record");
    let header = Header::of(&sampler()).unwrap().with_note("an engine 0.3");
    let recorder = Recorder::create_with(&path, &header, &sampler()).unwrap();
    let mut sampler = Recorded::new(recorder, sampler());
    draw(&mut sampler, 0, 3);
    let bytes = std::fs::read(&path).unwrap();
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap();
    assert_eq!((line.len() + 1) % 4, 0);
    let json: serde_json::Value = serde_json::from_slice(line).unwrap();
    assert_eq!((&json["sampler_chain_record"], &json["n_vocab"], &json["seed"]), (&1.into(), &4.into(), &42.into()));
    assert_eq!((&json["note"], &json["non_finite"]), (&"an engine 0.3".into(), &"refuse".into()));
    let program = concat!("sampler-chain ", env!("CARGO_PKG_VERSION"));
    assert_eq!(json["program"], program);
    let file = ChainFile::parse(&json["chain"].to_string(), Format::Json, Path::new("chain")).unwrap();
    assert_eq!(
        file.to_text(Format::Toml).unwrap(),
        ChainFile { seed: None, chain: chain() }.to_text(Format::Toml).unwrap()
    );

    let record = Record::open(&path).unwrap();
    assert_eq!((record.n_draws(), record.n_vocab(), record.header()), (3, Some(4), &header));
    for i in 0..3 {
        assert!(record.draw(i).unwrap().row_bytes().as_ptr().addr().is_multiple_of(4), "rows can be read in place");
    }
}

/// An engine whose own sampler draws, and which knows what it should be.
#[test]
fn a_header_of_ones_own() {
    let parameters = Parameters::of(&sampler()).unwrap();
    let mut recorder = Recorder::with_header(Vec::new(), &Header::new(u32::MAX, parameters)).unwrap();
    recorder.prompt(&[900]).unwrap();
    recorder.draw(&[1.0; 1000], 999).unwrap();
    let record = Record::from_bytes(recorder.into_inner()).unwrap();
    assert_eq!((record.header().n_vocab, record.n_vocab(), record.header().seed), (None, Some(1000), u32::MAX));
    assert_eq!(record.sampler(None).unwrap().seed(), u32::MAX, "every value is a seed");
}

#[test]
fn nothing_is_written_over() {
    let (_dir, path) = path("run.record");
    std::fs::write(&path, "precious").unwrap();
    let error = Recorder::create(&path, &sampler()).unwrap_err();
    assert_eq!(text(&error, &path), "run.record: is there already: append to it, or take another name");
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    let error = Recorder::append(&path, &sampler()).unwrap_err();
    assert_eq!(text(&error, &path), "run.record: this is no record: it does not begin with {\"sampler_chain_record\":");
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn one_recorder_at_a_time() {
    let (_dir, path) = path("run.record");
    let first = Recorder::create(&path, &sampler()).unwrap();
    let error = Recorder::append(&path, &sampler()).unwrap_err();
    assert_eq!(text(&error, &path), "run.record: another recorder is writing it");
    drop(first);
    Recorder::append(&path, &sampler()).unwrap();
}

#[test]
fn a_resumed_record_is_as_if_written_at_once() {
    let mirostat = || {
        let chain = Chain::new().with(Temperature::new(0.9)).with(MirostatV2::new(3.0, 0.2));
        Sampler::from_chain(chain, Ctx::new(7)).unwrap()
    };
    let (_dir, path) = path("run.record");
    let mut at_once = Recorded::new(Recorder::new(Vec::new(), &mirostat()).unwrap(), mirostat());
    at_once.accept_prompt_all(&[1]).unwrap();
    draw(&mut at_once, 0, 9);

    let mut first = Recorded::create(&path, mirostat()).unwrap();
    first.accept_prompt_all(&[1]).unwrap();
    draw(&mut first, 0, 4);
    drop(first);
    let (recorder, sampler) = Recorder::resume(&path, None).unwrap();
    let mut second = Recorded::new(recorder, sampler);
    draw(&mut second, 4, 9);
    assert_eq!(std::fs::read(&path).unwrap(), at_once.into_parts().1.into_inner());
}

#[test]
fn a_record_whose_tokens_its_chain_does_not_draw_is_not_resumed() {
    let (_dir, path) = path("run.record");
    let greedy = Sampler::from_chain(Chain::new().with(Greedy {}), Ctx::new(1)).unwrap();
    let mut recorder = Recorder::create(&path, &greedy).unwrap();
    recorder.draw(&row(0), 2).unwrap();
    drop(recorder);
    let error = Recorder::resume(&path, None).unwrap_err();
    let told = "run.record: draw 0: the record's token 2 is not what its chain draws here (3)";
    assert_eq!(text(&error, &path), told);
}

/// A program that was ended and starts anew has another state: the record says so.
#[test]
fn an_appended_record_says_where_the_sampler_is() {
    let (_dir, path) = path("run.record");
    let mut first = Recorded::create(&path, sampler()).unwrap();
    first.accept_prompt_all(&[2]).unwrap();
    draw(&mut first, 0, 3);
    drop(first);
    let other_seed = Sampler::from_chain(chain(), Ctx::new(43).with_n_vocab(4)).unwrap();
    let recorder = Recorder::append(&path, &other_seed).unwrap();
    let mut second = Recorded::new(recorder, other_seed);
    second.accept_prompt_all(&[0, 1]).unwrap();
    draw(&mut second, 3, 6);

    let record = Record::open(&path).unwrap();
    assert_eq!((record.n_draws(), record.seed_at(2), record.seed_at(3)), (6, 42, 43));
    assert_eq!(record.history(3).tokens(), [0, 1]);
    let replayed: Vec<_> = record.replay(record.sampler(None).unwrap()).map(Result::unwrap).collect();
    assert_eq!(replayed.len(), 6);
    assert!(replayed.iter().all(|draw| draw.drawn == Ok(draw.recorded)));
}

#[test]
fn another_chain_or_vocabulary_is_not_appended() {
    let (_dir, path) = path("run.record");
    draw(&mut Recorded::create(&path, sampler()).unwrap(), 0, 1);
    let before = std::fs::read(&path).unwrap();
    let refusal = |chain: Chain, n_vocab: usize, policy: NonFinite| {
        let other = Sampler::from_chain(chain, Ctx::new(42).with_n_vocab(n_vocab)).unwrap().with_non_finite(policy);
        text(&Recorder::append(&path, &other).unwrap_err(), &path)
    };
    assert_eq!(
        refusal(chain(), 5, NonFinite::Refuse),
        "run.record: the record is of a vocabulary of 4 tokens, and this one has 5"
    );
    let other = Chain::new().with(TopK { k: 2 }).with(Temperature::new(0.8)).with(Dist::default());
    assert_eq!(
        refusal(other, 4, NonFinite::Refuse),
        "run.record: the record is of other parameters: step 1 (top_k): k is 3 in the record and 2 in this sampler"
    );
    assert_eq!(
        refusal(Chain::new().with(Greedy {}), 4, NonFinite::Refuse),
        "run.record: the record is of other parameters: step 1 (top_k) is only in the record"
    );
    assert_eq!(
        refusal(chain(), 4, NonFinite::FiniteArgmax),
        "run.record: the record is of other parameters: non_finite is \"refuse\" in the record and \"finite_argmax\" in \
         this sampler"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_cut_record_is_mended_before_it_goes_on() {
    let (_dir, path) = path("run.record");
    let whole = small();
    std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let error = text(&Recorder::append(&path, &sampler()).unwrap_err(), &path);
    let at = whole.len() - 16;
    assert_eq!(
        error,
        format!("run.record: its last frame is cut: 11 bytes from byte {at} on belong to none; mend it first")
    );
    let cut = mend(&path).unwrap().unwrap();
    assert_eq!((cut.at, cut.bytes), (at as u64, 11));
    assert_eq!(std::fs::read(&path).unwrap(), whole[..at]);
    assert_eq!(mend(&path).unwrap(), None);
    Recorder::append(&path, &sampler()).unwrap();

    std::fs::write(&path, &whole[..30]).unwrap();
    assert_eq!(
        text(&mend(&path).unwrap_err(), &path),
        "run.record: the header is cut: 30 bytes, and no end of its line"
    );
    assert_eq!(std::fs::read(&path).unwrap(), whole[..30]);
}

/// Whatever byte a crash left last: all whole frames are there, and the record says that it is cut.
#[test]
fn a_cut_at_any_byte_leaves_the_whole_frames() {
    let whole = small();
    let header = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let all: Vec<String> = Record::from_bytes(whole.clone()).unwrap().frames().map(|f| format!("{f:?}")).collect();
    // The ends of: the prompt, and twice a draw and an accepted token.
    let mut ends = vec![header];
    for bytes in [20, 40, 16, 40, 16] {
        ends.push(ends.last().unwrap() + bytes);
    }
    assert_eq!(*ends.last().unwrap(), whole.len());
    for cut in 0..=whole.len() {
        let read = Record::from_bytes(whole[..cut].to_vec());
        if cut < header {
            let told = format!("record: the header is cut: {cut} bytes, and no end of its line");
            assert_eq!(read.unwrap_err().to_string(), told);
            continue;
        }
        let record = read.unwrap();
        let n_whole = ends.iter().filter(|&&end| end <= cut).count() - 1;
        let found: Vec<String> = record.frames().map(|frame| format!("{frame:?}")).collect();
        assert_eq!(found, all[..n_whole], "{cut}");
        assert_eq!(record.is_cut(), !ends.contains(&cut), "{cut}");
        let bytes = record.cut().map(|cut| cut.bytes);
        assert_eq!(bytes, record.is_cut().then(|| (cut - ends[n_whole]) as u64));
    }
}

/// Writes so many bytes, and then no more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the disk is full"));
        }
        let n = bytes.len().min(self.0);
        self.0 -= n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn after_a_frame_in_part_none_follows() {
    let header = small().iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let mut recorder = Recorder::new(Full(header + 10), &sampler()).unwrap();
    assert_eq!(recorder.prompt(&[1, 2, 3]).unwrap_err().to_string(), "record: the disk is full");
    let told = "record: an earlier frame could not be written whole, and none can follow it";
    assert_eq!(recorder.accept(1).unwrap_err().to_string(), told);
}

#[test]
fn what_cannot_be_is_not_written() {
    let mut recorder = Recorder::new(Vec::new(), &sampler()).unwrap();
    let n_bytes = recorder.get_ref().len();
    let told = |done: Result<(), sampler_chain::RecordError>| done.unwrap_err().to_string();
    assert_eq!(told(recorder.draw(&[1.0; 5], 0)), "record: the row has 5 logits, and the record's rows 4");
    assert_eq!(told(recorder.draw(&row(0), 4)), "record: token 4 is beyond the vocabulary of 4 tokens");
    assert_eq!(told(recorder.prompt(&[1, 4])), "record: token 4 is beyond the vocabulary of 4 tokens");
    assert_eq!(told(recorder.accept(9)), "record: token 9 is beyond the vocabulary of 4 tokens");
    assert_eq!(told(recorder.rewind(1)), "record: 1 tokens cannot be taken back: 0 are accepted");
    assert_eq!(recorder.get_ref().len(), n_bytes);
    recorder.draw(&row(0), 1).unwrap();
}

#[test]
fn the_draws_of_a_record_are_rows_of_logits() {
    let (_dir, path) = path("run.record");
    std::fs::write(&path, small()).unwrap();
    let logits = LogitsFile::open(&path, None).unwrap();
    assert_eq!((logits.n_rows(), logits.n_vocab()), (2, 4));
    let mut found = Vec::new();
    logits.row(1, &mut found).unwrap();
    assert_eq!(found, row(1));
    assert!(logits.row(2, &mut found).is_none());
    assert_eq!(logits.record().unwrap().prompt(), [3, 1]);
    std::fs::write(&path, &small()[..30]).unwrap();
    let told = "run.record: the header is cut: 30 bytes, and no end of its line";
    assert_eq!(text(&LogitsFile::open(&path, None).unwrap_err(), &path), told);
}
