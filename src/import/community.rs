//! Fields of samplers that llama.cpp does not have, where several programs mean the same by them.

use sampler_steps::community::{
    EncoderRepetitionPenalty, EpsilonCutoff, EtaCutoff, MinNewTokens, NoRepeatNgram, Smoothing, Tfs, TfsVariant, TopA,
};

use super::draft::Draft;
use super::report::Fate;

/// What a program's cutoffs are in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CutoffUnit {
    /// Probabilities: transformers.
    One,
    /// Ten-thousandths: text-generation-webui, aphrodite.
    TenThousandth,
}

pub fn used(r#as: &str) -> Fate {
    Fate::Used { r#as: r#as.to_string() }
}

/// The same of a step that is about the tokens that end a text.
pub fn used_with(ends: Option<&Vec<u32>>, name: &str) -> Fate {
    match ends {
        Some(_) => used(name),
        None => used(&format!("{name}, with the vocabulary's end tokens")),
    }
}

/// The step and its variant, as a report names them.
pub fn variant_name(variant: TfsVariant) -> &'static str {
    match variant {
        TfsVariant::Ggml => "tfs, variant ggml",
        TfsVariant::Kobold => "tfs, variant kobold",
    }
}

impl Draft<'_> {
    /// 0 is off.
    pub fn top_a(&mut self) {
        if let Some(a) = self.on("top_a", |a| a <= 0.0) {
            self.add("top_a", TopA { a: a as f32 }, [("top_a", used("top_a"))]);
        }
    }

    /// 1 is off.
    pub fn tfs(&mut self, variant: TfsVariant) {
        self.tfs_with(variant, used(variant_name(variant)));
    }

    /// The same, with what becomes of the field where the step runs.
    pub fn tfs_with(&mut self, variant: TfsVariant, fate: Fate) {
        if let Some(z) = self.on("tfs", |z| z >= 1.0) {
            self.add("tfs", Tfs { z: z as f32, variant, ..Tfs::default() }, [("tfs", fate)]);
        }
    }

    /// A factor of 0 is off, a curve of 1 the square alone.
    pub fn smoothing(&mut self) {
        self.know(["smoothing_curve"]);
        let factor = self.on("smoothing_factor", |factor| factor <= 0.0);
        let curve = self.number("smoothing_curve").unwrap_or(1.0);
        let Some(factor) = factor else {
            if curve != 1.0 {
                self.note("smoothing_curve", Fate::NoEffect { why: "smoothing_factor is off".into() });
            }
            return;
        };
        let step = Smoothing { factor: factor as f32, curve: curve as f32 };
        let fates = [("smoothing_factor", used("smoothing")), ("smoothing_curve", used("curve of smoothing"))];
        self.add("smoothing", step, fates);
    }

    /// 0 is off.
    pub fn cutoffs(&mut self, unit: CutoffUnit) {
        for own in ["epsilon_cutoff", "eta_cutoff"] {
            let is_off = |cut: f64| cut <= 0.0 || unit == CutoffUnit::One && cut >= 1.0;
            let Some(number) = self.on(own, is_off) else { continue };
            let (epsilon, fate) = match unit {
                CutoffUnit::One => (number as f32, used(own)),
                CutoffUnit::TenThousandth => {
                    let epsilon = (number / 10_000.0) as f32;
                    let why = "it is in units of 1e-4".to_string();
                    (epsilon, Fate::Translated { from: self.shown(own), to: format!("epsilon {epsilon}"), why })
                }
            };
            match own {
                "eta_cutoff" => self.add(own, EtaCutoff { epsilon, ..EtaCutoff::default() }, [(own, fate)]),
                _ => self.add(own, EpsilonCutoff { epsilon, ..EpsilonCutoff::default() }, [(own, fate)]),
            }
        }
    }

    /// 0 is off.
    pub fn no_repeat_ngram(&mut self) {
        let own = "no_repeat_ngram_size";
        if let Some(n) = self.count(own) {
            self.add("no_repeat_ngram", NoRepeatNgram::new(n), [(own, used("no_repeat_ngram"))]);
        }
    }

    /// 1 is off. The name is transformers', or SillyTavern's `encoder_rep_pen`.
    pub fn encoder_repetition_penalty(&mut self, own: &'static str) {
        let name = "encoder_repetition_penalty";
        if let Some(penalty) = self.on(own, |penalty| penalty == 1.0) {
            self.add(name, EncoderRepetitionPenalty::new(penalty), [(own, used(name))]);
        }
    }

    /// 0 is off. The end tokens are the preset's, or else the vocabulary's.
    pub fn min_new_tokens(&mut self, own: &'static str, ends: Option<Vec<u32>>) {
        if let Some(n) = self.count(own) {
            let mut step = MinNewTokens::new(n);
            step.tokens = ends;
            let fate = used_with(step.tokens.as_ref(), "min_new_tokens");
            self.add("min_new_tokens", step, [(own, fate)]);
        }
    }

    /// A whole number above 0; another one is a problem, or off.
    fn count(&mut self, own: &'static str) -> Option<u32> {
        let number = self.on(own, |n| n <= 0.0)?;
        if number.fract() != 0.0 || number > f64::from(u32::MAX) {
            let what = format!("a whole number is wanted, and this is {}", self.shown(own));
            self.problem(own, what);
            return None;
        }
        Some(number as u32)
    }
}
