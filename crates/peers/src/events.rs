//! A stream of events (`text/event-stream`) as it comes, in pieces of any size. Pure.

use crate::job::{JobEvent, Nonsense, read_event};

/// Most bytes of one event: a preview in base64 may be as large as the picture.
const MAX_EVENT: usize = 64 << 20;

/// Reads events out of the pieces of a stream.
#[derive(Clone, Debug, Default)]
pub struct EventReader {
    /// The line that is not whole yet.
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
}

impl EventReader {
    /// The events that are whole with this piece; `None` where the stream makes no sense or an event
    /// is too large, after which it is not to be read on. Events of later versions are passed over.
    pub fn push(&mut self, piece: &[u8]) -> Option<Vec<JobEvent>> {
        self.read(piece).ok()
    }

    fn read(&mut self, piece: &[u8]) -> Result<Vec<JobEvent>, Nonsense> {
        let mut events = Vec::new();
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = rest.split_at(end);
            self.add(head)?;
            rest = tail.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            events.extend(self.end_line(line.strip_suffix(b"\r").unwrap_or(&line))?);
        }
        self.add(rest)?;
        Ok(events)
    }

    fn add(&mut self, part: &[u8]) -> Result<(), Nonsense> {
        if self.line.len() + self.data.len() + part.len() > MAX_EVENT {
            return Err(Nonsense);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self, line: &[u8]) -> Result<Option<JobEvent>, Nonsense> {
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            return if data.is_empty() { Ok(None) } else { read_event(&name, &data) };
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => line.split_at(colon),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = String::from_utf8_lossy(value.get(..32).unwrap_or(value)).into_owned(),
            b"data" => {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            // A comment, or a field of no use here.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::Seed;

    const STREAM: &[u8] =
        b": keep-alive\n\nevent: step\r\ndata: {\"picture\": 0, \"step\": 1,\r\ndata: \"steps\": 4}\r\n\r\nid: 7\nevent: new\n\
        data: x\n\nevent: picture\ndata:{\"index\":0,\"seed\":5}\n\n";

    #[test]
    fn events_are_the_same_in_pieces_of_any_size() {
        let expected = [JobEvent::Step { picture: 0, done: 1, total: 4 }, JobEvent::Picture { index: 0, seed: Some(Seed(5)) }];
        for size in 1..=STREAM.len() {
            let mut reader = EventReader::default();
            let events: Vec<JobEvent> = STREAM.chunks(size).flat_map(|piece| reader.push(piece).unwrap()).collect();
            assert_eq!(events, expected, "pieces of {size}");
        }
    }

    #[test]
    fn a_stream_without_end_and_one_of_nonsense_are_given_up() {
        let mut reader = EventReader::default();
        let piece = vec![b'x'; 1 << 20];
        let taken = (0..100).take_while(|_| reader.push(&piece).is_some()).count();
        assert_eq!(taken, MAX_EVENT >> 20);
        let mut reader = EventReader::default();
        let line = [b"data: ", &piece[..], b"\n"].concat();
        assert!((0..100).any(|_| reader.push(&line).is_none()), "lines of one event are bounded together");
        assert_eq!(EventReader::default().push(b"event: end\ndata: no JSON\n\n"), None);
        assert_eq!(EventReader::default().push(b"data\n\n\n:\n"), Some(Vec::new()));
    }
}
