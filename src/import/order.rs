//! Order lists by name and by number.

use serde_json::Value;

use super::draft::{Draft, shortened};
use super::report::Fate;
use crate::document::{Node, NodeKind};

/// A program's name in its order lists, and the steps that it stands for, llama-server's and others; none: there is no
/// counterpart.
pub type OrderName = (&'static str, &'static [&'static str]);

impl Draft<'_> {
    /// The names of an order list: a list of texts, or a text with newlines or commas between. None where it is absent or
    /// wrong.
    pub fn order_names(&mut self, field: &str) -> Option<Vec<String>> {
        let node = self.get(field)?;
        let names = match &node.kind {
            NodeKind::Scalar(Value::String(text)) => {
                Some(text.split(['\n', ',']).map(str::trim).filter(|name| !name.is_empty()).map(String::from).collect())
            }
            NodeKind::Array(items) => items.iter().map(|item| item.as_str().map(String::from)).collect(),
            _ => None,
        };
        if names.is_none() {
            let what = format!("a list of names is wanted, and this is {}", shortened(&node.describe()));
            self.problem(field, what);
        }
        names
    }

    /// The numbers of an order list.
    pub fn order_numbers(&mut self, field: &str) -> Option<Vec<i64>> {
        let node = self.get(field)?;
        let number = |node: &Node| node.to_json().as_i64();
        let numbers: Option<Vec<i64>> = match &node.kind {
            NodeKind::Array(items) => items.iter().map(number).collect(),
            _ => None,
        };
        if numbers.is_none() {
            let what = format!("a list of whole numbers is wanted, and this is {}", shortened(&node.describe()));
            self.problem(field, what);
        }
        numbers
    }

    /// The steps of names; one that is not known is a problem.
    pub fn steps_of(&mut self, field: &str, names: &[String], known: &[OrderName]) -> Vec<&'static str> {
        let mut steps: Vec<&'static str> = Vec::new();
        for name in names {
            match known.iter().find(|(known, _)| known == name) {
                Some((_, of_name)) => steps.extend(*of_name),
                None => {
                    let known: Vec<&'static str> = known.iter().map(|row| row.0).collect();
                    self.unknown_in(field, name, &known);
                }
            }
        }
        steps
    }

    /// The order, as the preset's own field says it.
    pub fn set_order(&mut self, field: &str, steps: &[&'static str]) {
        let listed: Vec<&str> = self.split_order(steps).into_iter().map(crate::StepName::as_str).collect();
        self.set("samplers", field, listed);
    }

    /// The order of a program whose preset says none.
    pub fn set_default_order(&mut self, steps: &[&'static str]) {
        self.base.samplers = self.split_order(steps);
    }

    /// The order lists that are for other programs.
    pub fn other_orders(&mut self, lists: &[(&str, &str)]) {
        for (field, backend) in lists {
            if self.get(field).is_some() {
                self.note(field, Fate::NoEffect { why: format!("it is the order for --backend {backend}") });
            }
        }
    }
}
