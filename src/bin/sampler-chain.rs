//! The program. All of it stands in the library, so that others can have it with steps of their own.

fn main() -> std::process::ExitCode {
    sampler_chain::program::main()
}
