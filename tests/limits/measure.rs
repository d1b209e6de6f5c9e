//! Measures one input: its size, the processor's time from there on, the peak of the process's memory, and the answer.

use std::process::Command;

use crate::processor;

/// Tells a process which input it is for.
pub const VARIABLE: &str = "SAMPLER_CHAIN_LIMITS_INPUT";
const MARK: &str = "LIMITS\t";

/// An input with what is promised of it.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it is, in the table's words.
    pub input: &'static str,
    /// Whether a debug build takes no time over it.
    pub quick: bool,
    /// Makes it, says so, and gives the answer: the text of the error, or what came out.
    pub run: fn(&mut Ready) -> String,
    /// A part of the answer.
    pub answer: &'static str,
    /// The most time of the processor, in seconds.
    pub seconds: f64,
    /// The most memory of the process, the input included, in MB.
    pub megabytes: u64,
}

/// Is told when the input is there: what was done to make it does not count.
#[derive(Default)]
pub struct Ready(Option<(f64, usize)>);

impl Ready {
    /// The input is there, and is so many bytes long.
    pub fn input(&mut self, bytes: usize) {
        // Makes the peak what is in use now.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        self.0 = Some((processor_seconds(), bytes));
    }
}

/// What this process has had of the processor.
fn processor_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("this runs on Linux").flatten();
    threads.filter_map(|thread| processor::seconds(&thread.path())).sum()
}

/// Runs an input and tells what it took.
pub fn tell(case: &Case) {
    let mut ready = Ready::default();
    let answer = (case.run)(&mut ready);
    let (start, bytes) = ready.0.expect("the case said when its input was there");
    let seconds = processor_seconds() - start;
    let status = std::fs::read_to_string("/proc/self/status").expect("this runs on Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak is there");
    println!("{MARK}{bytes}\t{seconds}\t{}\t{answer}", peak.trim().trim_end_matches(" kB"));
}

/// Runs every input in a process of its own, prints the table, and fails where a promise is broken.
pub fn table(cases: Vec<Case>) {
    println!("| input | size | processor time | peak memory | answer |\n| --- | --- | --- | --- | --- |");
    let mut broken = Vec::new();
    for case in cases {
        let output = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["--exact", "one_input", "--ignored", "--nocapture"])
            .env(VARIABLE, case.input)
            .output()
            .expect("this program can be run");
        let text = String::from_utf8_lossy(&output.stdout);
        let told = text.split_once(MARK).map(|(_, told)| told.lines().next().unwrap_or_default());
        let fields: Vec<&str> = told.unwrap_or_default().splitn(4, '\t').collect();
        let [bytes, seconds, peak, answer] = fields[..] else {
            let error = String::from_utf8_lossy(&output.stderr).chars().take(300).collect::<String>();
            println!("| {} | | | | {:?}: {error} |", case.input, output.status);
            broken.push(format!("{}: {:?}", case.input, output.status));
            continue;
        };
        let seconds: f64 = seconds.parse().expect("it is a number");
        let megabytes = peak.parse::<u64>().expect("it is a number") / 1024;
        // Files have a name that is another one each time.
        let answer = answer.split_once("/hostile.").map_or(answer, |(_, rest)| rest);
        let (size, time) = (size(bytes), time(seconds));
        println!("| {} | {size} | {time} | {megabytes} MB | `{}` |", case.input, shortened(answer));
        if !answer.contains(case.answer) {
            broken.push(format!("{}: {} is not in the answer", case.input, case.answer));
        }
        if seconds > case.seconds || megabytes > case.megabytes {
            broken.push(format!("{}: {} s and {} MB are promised", case.input, case.seconds, case.megabytes));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// At most 80 characters of an answer, with a letter or bracket that stands there many times written once.
fn shortened(answer: &str) -> String {
    let chars: Vec<char> = answer.chars().collect();
    let runs = chars.chunk_by(|a, b| a == b && !a.is_ascii_digit());
    let text: String =
        runs.map(|run| if run.len() > 3 { format!("{}…", run[0]) } else { run.iter().collect() }).collect();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn size(bytes: &str) -> String {
    match bytes.parse::<f64>().expect("it is a number") {
        bytes if bytes >= 1e6 => format!("{:.0} MB", bytes / 1e6),
        bytes if bytes >= 1e4 => format!("{:.0} kB", bytes / 1e3),
        bytes => format!("{bytes} B"),
    }
}

fn time(seconds: f64) -> String {
    match seconds * 1e3 {
        ms if ms >= 1000.0 => format!("{seconds:.1} s"),
        ms if ms >= 1.0 => format!("{ms:.0} ms"),
        _ => "< 1 ms".to_string(),
    }
}
