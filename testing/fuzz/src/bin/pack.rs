//! Packs a target's corpus, which libFuzzer has minimised, for the repository: `cargo run --bin pack TARGET DIR`.

use sampler_chain_fuzz::{TARGETS, corpora};

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, dir] = &arguments[..] else { return Err(std::io::Error::other("give a target and a folder")) };
    if TARGETS.iter().all(|(name, _)| name != target) {
        return Err(std::io::Error::other(format!("there is no target {target}")));
    }
    let mut inputs = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        inputs.push(std::fs::read(entry?.path())?);
    }
    let n_found = inputs.len();
    let (n, packed) = corpora::pack_smallest(inputs)?;
    let path = corpora::path(target);
    std::fs::create_dir_all(path.parent().expect("it is in a folder"))?;
    std::fs::write(&path, &packed)?;
    println!("{target}: {n} of {n_found} inputs, {} bytes", packed.len());
    Ok(())
}
