//! The metadata of a GGUF file, walked once with every length checked; values stay where they are in the map.

use std::collections::HashMap;
use std::ops::Range;

use memmap2::Mmap;

use super::Problem;

/// The metadata, by key.
#[derive(Debug)]
pub struct Metadata {
    map: Mmap,
    values: HashMap<String, Stored>,
}

/// A value, where it is.
#[derive(Debug, Clone)]
enum Stored {
    One(Type, Range<usize>),
    /// Of numbers, end to end.
    Numbers(Type, Range<usize>),
    /// Of texts, each where it is.
    Texts(Vec<Range<usize>>),
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    Text,
    Array,
    U64,
    I64,
    F64,
}

const TYPES: [Type; 13] = [
    Type::U8,
    Type::I8,
    Type::U16,
    Type::I16,
    Type::U32,
    Type::I32,
    Type::F32,
    Type::Bool,
    Type::Text,
    Type::Array,
    Type::U64,
    Type::I64,
    Type::F64,
];

impl Type {
    /// The bytes of a number; none for texts and arrays.
    fn size(self) -> Option<usize> {
        Some(match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
            Self::Text | Self::Array => return None,
        })
    }
}

impl Metadata {
    pub fn read(map: Mmap) -> Result<Self, Problem> {
        let mut cursor = Cursor { bytes: &map, at: 0 };
        if cursor.take(4, "the magic")? != *b"GGUF" {
            return Err(Problem::At(0, "this is no GGUF file: it does not begin with GGUF".into()));
        }
        let version = cursor.u32("the version")?;
        match version {
            2 | 3 => {}
            _ if version & 0xffff == 0 && version != 0 => {
                return Err(Problem::Refused("a big-endian GGUF file; only little-endian ones are read".into()));
            }
            _ => return Err(Problem::Refused(format!("GGUF version {version}; 2 and 3 are read"))),
        }
        cursor.u64("the number of tensors")?;
        let n_values = cursor.u64("the number of values")?;
        let mut values = HashMap::new();
        // The number is not believed: the walk ends with the file.
        for _ in 0..n_values {
            let at = cursor.at;
            let key = cursor.text("a key")?;
            let key = std::str::from_utf8(&map[key]).map_err(|_| Problem::At(at, "a key is not UTF-8".into()))?;
            let value = cursor.value(key)?;
            if values.insert(key.to_string(), value).is_some() {
                return Err(Problem::At(at, format!("the key {key} is given twice")));
            }
        }
        let metadata = Self { values, map };
        if let Some(part) = metadata.number("split.no").filter(|part| *part != 0) {
            let count = metadata.number("split.count").unwrap_or_default();
            return Err(Problem::Refused(format!(
                "part {} of {count} of a split model; the first part has what is read",
                part + 1
            )));
        }
        Ok(metadata)
    }

    /// The text under a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.values.get(key)? {
            Stored::One(Type::Text, place) => std::str::from_utf8(&self.map[place.clone()]).ok(),
            _ => None,
        }
    }

    /// The whole number under a key, of any width.
    pub fn number(&self, key: &str) -> Option<i128> {
        match self.values.get(key)? {
            Stored::One(kind, place) => whole(*kind, &self.map[place.clone()]),
            _ => None,
        }
    }

    /// Whether there is anything under a key.
    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The flag under a key.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.values.get(key)? {
            Stored::One(Type::Bool, place) => Some(self.map[place.start] != 0),
            _ => None,
        }
    }

    /// The bytes of the texts under a key.
    pub fn texts(&self, key: &str) -> Option<impl ExactSizeIterator<Item = &[u8]>> {
        match self.values.get(key)? {
            Stored::Texts(places) => Some(places.iter().map(|place| &self.map[place.clone()])),
            _ => None,
        }
    }

    /// The 32-bit integers under a key.
    pub fn ints(&self, key: &str) -> Option<Vec<i32>> {
        match self.values.get(key)? {
            Stored::Numbers(Type::I32, place) => {
                Some(self.map[place.clone()].as_chunks().0.iter().map(|four| i32::from_le_bytes(*four)).collect())
            }
            _ => None,
        }
    }

    /// A single value as llama.cpp keeps it as text (`gguf_kv_to_str`): floats with six decimals. Arrays have none.
    pub fn as_text(&self, key: &str) -> Option<Vec<u8>> {
        let Stored::One(kind, place) = self.values.get(key)? else { return None };
        let bytes = &self.map[place.clone()];
        Some(match kind {
            Type::Text => bytes.to_vec(),
            Type::F32 => format!("{:.6}", f32::from_le_bytes(bytes.try_into().ok()?)).into_bytes(),
            Type::F64 => format!("{:.6}", f64::from_le_bytes(bytes.try_into().ok()?)).into_bytes(),
            Type::Bool => (if bytes[0] != 0 { "true" } else { "false" }).into(),
            other => whole(*other, bytes)?.to_string().into_bytes(),
        })
    }
}

fn whole(kind: Type, bytes: &[u8]) -> Option<i128> {
    Some(match kind {
        Type::U8 => u8::from_le_bytes(bytes.try_into().ok()?).into(),
        Type::I8 => i8::from_le_bytes(bytes.try_into().ok()?).into(),
        Type::U16 => u16::from_le_bytes(bytes.try_into().ok()?).into(),
        Type::I16 => i16::from_le_bytes(bytes.try_into().ok()?).into(),
        Type::U32 => u32::from_le_bytes(bytes.try_into().ok()?).into(),
        Type::I32 => i32::from_le_bytes(bytes.try_into().ok()?).into(),
        Type::U64 => u64::from_le_bytes(bytes.try_into().ok()?).into(),
        Type::I64 => i64::from_le_bytes(bytes.try_into().ok()?).into(),
        Type::F32 | Type::F64 | Type::Bool | Type::Text | Type::Array => return None,
    })
}

/// A place in the file.
struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    fn take(&mut self, n: usize, what: &str) -> Result<&'b [u8], Problem> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.bytes.len());
        let Some(end) = end else {
            let left = self.bytes.len() - self.at;
            return Err(Problem::At(self.at, format!("{what} wants {n} bytes, and the file has {left} more")));
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn u32(&mut self, what: &str) -> Result<u32, Problem> {
        self.take(4, what).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    fn u64(&mut self, what: &str) -> Result<u64, Problem> {
        self.take(8, what).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    /// A length that a file may have.
    fn length(&mut self, what: &str) -> Result<usize, Problem> {
        let at = self.at;
        let length = self.u64(what)?;
        usize::try_from(length).map_err(|_| Problem::At(at, format!("{what} has a length of {length}")))
    }

    fn text(&mut self, what: &str) -> Result<Range<usize>, Problem> {
        let length = self.length(what)?;
        let start = self.at;
        self.take(length, what)?;
        Ok(start..self.at)
    }

    fn kind(&mut self, what: &str) -> Result<Type, Problem> {
        let at = self.at;
        let number = self.u32(what)?;
        let known = usize::try_from(number).ok().and_then(|number| TYPES.get(number));
        known.copied().ok_or_else(|| Problem::At(at, format!("{what} is {number}, and there are the types 0 to 12")))
    }

    fn value(&mut self, key: &str) -> Result<Stored, Problem> {
        let kind = self.kind(&format!("the type of {key}"))?;
        if kind != Type::Array {
            let place = match kind.size() {
                Some(size) => {
                    let start = self.at;
                    self.take(size, key)?;
                    start..self.at
                }
                None => self.text(key)?,
            };
            return Ok(Stored::One(kind, place));
        }
        let at = self.at;
        let kind = self.kind(&format!("the type of {key}'s items"))?;
        let n = self.length(key)?;
        match kind.size() {
            Some(size) => {
                let start = self.at;
                let bytes = n.checked_mul(size).ok_or_else(|| Problem::At(at, format!("{key} has {n} items")))?;
                self.take(bytes, key)?;
                Ok(Stored::Numbers(kind, start..self.at))
            }
            None if kind == Type::Text => {
                let mut places = Vec::new();
                for _ in 0..n {
                    places.push(self.text(key)?);
                }
                Ok(Stored::Texts(places))
            }
            None => Err(Problem::At(at, format!("{key} is an array of arrays"))),
        }
    }
}
