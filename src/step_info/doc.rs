//! The doc comment of a step, taken apart.

use serde_json::Value;

/// The names of llama.cpp's functions begin so.
const COUNTERPARTS: [&str; 2] = [": `llama_", ": `common_"];

/// A doc comment: its text, and the sections under headings.
pub struct Doc {
    /// Heading and text, the first without a heading.
    sections: Vec<(String, String)>,
}

impl Doc {
    pub fn parse(text: &str) -> Self {
        let mut sections = vec![(String::new(), String::new())];
        let mut in_code = false;
        for line in text.lines() {
            in_code ^= line.starts_with("```");
            match line.strip_prefix("# ") {
                Some(heading) if !in_code => sections.push((heading.trim().into(), String::new())),
                _ => {
                    if let Some((_, section)) = sections.last_mut() {
                        section.push_str(line);
                        section.push('\n');
                    }
                }
            }
        }
        for (heading, section) in &mut sections {
            // Examples keep their lines.
            let trimmed = section.trim();
            *section = if heading == "Chain file" { trimmed.into() } else { flow(trimmed) };
        }
        Self { sections }
    }

    /// The text of a section by its heading; the first has an empty one.
    pub fn section(&self, heading: &str) -> Option<&str> {
        let section = self.sections.iter().find(|(known, _)| known == heading);
        section.map(|(_, text)| text.as_str()).filter(|text| !text.is_empty())
    }

    /// The first sentence without its full stop.
    fn sentence(&self) -> Option<&str> {
        let paragraph = self.section("")?.split("\n\n").next()?;
        let sentence = paragraph.split_once(". ").map_or(paragraph, |(sentence, _)| sentence);
        Some(sentence.trim_end_matches('.'))
    }

    /// What the step does, in one sentence, without llama.cpp's name for it.
    pub fn summary(&self) -> Option<String> {
        let sentence = self.sentence()?;
        let end = COUNTERPARTS.iter().filter_map(|name| sentence.find(name)).min().unwrap_or(sentence.len());
        Some(sentence[..end].to_string())
    }

    /// llama.cpp's function for it.
    pub fn counterpart(&self) -> Option<String> {
        let sentence = self.sentence()?;
        let at = COUNTERPARTS.iter().filter_map(|name| sentence.find(name)).min()?;
        Some(sentence[at..].trim_start_matches(": ").to_string())
    }

    /// The step of the section `Chain file`.
    pub fn example(&self) -> Option<Value> {
        let code = self.section("Chain file")?.split("```json").nth(1)?.split("```").next()?;
        serde_json::from_str(code).ok()
    }
}

/// A text whose paragraphs are lines.
pub fn flow(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.lines().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
