//! Files packed with gzip: vocabularies and oracle cases.

use std::io::{ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// What is read here is some megabytes; what unpacks to more than so many bytes is not.
pub const MAX_UNPACKED: u64 = 1 << 26;

/// Why a file cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It cannot be read.
    #[error("{0}")]
    Io(std::io::Error),
    /// Its first bytes are not those of gzip.
    #[error("it is not packed with gzip")]
    NotGzip,
    /// It ends before what is packed in it does.
    #[error("it is cut short")]
    CutShort,
    /// It was changed after it was packed, or something else follows.
    #[error("it is broken: {0}")]
    Broken(String),
    /// It unpacks to more than [`MAX_UNPACKED`].
    #[error("it unpacks to more than {} MB", MAX_UNPACKED >> 20)]
    TooLarge,
}

/// Whether a file's name says that it is packed.
pub fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// What is packed in a file. Several packed parts, one after another, are one file, as for `gzip` itself.
pub fn unpack(path: &Path) -> Result<Vec<u8>, UnpackError> {
    let packed = std::fs::File::open(path).map_err(UnpackError::Io)?;
    unpack_from(packed, MAX_UNPACKED)
}

fn unpack_from(mut packed: impl Read, most: u64) -> Result<Vec<u8>, UnpackError> {
    let mut start = Vec::new();
    packed.by_ref().take(2).read_to_end(&mut start).map_err(UnpackError::Io)?;
    if start != [0x1f, 0x8b] {
        return Err(UnpackError::NotGzip);
    }
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(start.chain(packed)).take(most + 1).read_to_end(&mut bytes);
    match read {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(UnpackError::CutShort),
        Err(error) if [ErrorKind::InvalidInput, ErrorKind::InvalidData].contains(&error.kind()) => {
            Err(UnpackError::Broken(error.to_string()))
        }
        Err(error) => Err(UnpackError::Io(error)),
        Ok(_) if bytes.len() as u64 > most => Err(UnpackError::TooLarge),
        Ok(_) => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn pack(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(packed: &[u8]) -> Vec<u8> {
        unpack_from(packed, MAX_UNPACKED).unwrap()
    }

    fn error(packed: &[u8]) -> String {
        unpack_from(packed, MAX_UNPACKED).unwrap_err().to_string()
    }

    #[test]
    fn what_was_packed_comes_out() {
        assert_eq!(unpacked(&pack(b"")), b"");
        let content: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
        assert_eq!(unpacked(&pack(&content)), content);
        let two = [pack(b"one, "), pack(b"two")].concat();
        assert_eq!(unpacked(&two), b"one, two");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for other in [&b""[..], b"\x1f", b"no gzip", b"\x8b\x1f"] {
            assert_eq!(error(other), "it is not packed with gzip", "{other:?}");
        }
        let good = pack(b"a line of cases\n");
        for n in 2..good.len() {
            assert_eq!(error(&good[..n]), "it is cut short", "the first {n} bytes");
        }
        let mut bad = good.clone();
        *bad.last_mut().unwrap() ^= 1;
        assert_eq!(error(&bad), "it is broken: corrupt gzip stream does not have a matching checksum");
        assert_eq!(error(&[&good[..], b"what follows is no gzip"].concat()), "it is broken: invalid gzip header");
        let missing = unpack(Path::new("none.gz")).unwrap_err().to_string();
        assert_eq!(missing, "No such file or directory (os error 2)");
    }

    #[test]
    fn it_stops_at_the_limit() {
        let packed = pack(&[0; 1000]);
        assert_eq!(unpack_from(&packed[..], 1000).unwrap(), [0; 1000]);
        for packed in [pack(&[0; 1001]), [packed, pack(b"1")].concat()] {
            let error = unpack_from(&packed[..], 1000).unwrap_err();
            assert!(matches!(error, UnpackError::TooLarge), "{error}");
        }
        assert_eq!(UnpackError::TooLarge.to_string(), "it unpacks to more than 64 MB");
    }
}
