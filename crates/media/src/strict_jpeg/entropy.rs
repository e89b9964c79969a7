//! Whether the compressed data of a JPEG file is whole: each code is one of its table, each block
//! has its 64 coefficients within their range, and each scan and each restart interval ends where
//! its blocks do.
//!
//! Decoders get in step again after a damaged byte and paint something, and none says so: the
//! pixels are theirs, and this only counts. What changes the size of a number and not its length is
//! another picture that is as whole as the first, and cannot be told from it.

use atelier_language::text;

use crate::MAX_SIDE;

/// Longest code in bits.
const MAX_CODE: usize = 16;
/// Codes are looked up at once up to this length in bits.
const QUICK_CODE: usize = 8;
/// Most scans of a file; encoders write about ten.
const MAX_SCANS: usize = 100;
/// Most components of a picture: those of print.
const MAX_COMPONENTS: usize = 4;
/// Coefficients of eight-bit samples reach 1024; at hard edges encoders overshoot on purpose.
const MAX_COEFFICIENT: i32 = 1536;
/// Most bits of a difference between the means of two blocks, and of any other coefficient.
const MAX_MEAN_BITS: u8 = 11;
const MAX_DETAIL_BITS: u8 = 10;

/// What the check finds of a file beside damage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// True where Adobe's mark is in it: inks are stored inverted then.
    pub(super) has_adobe_mark: bool,
}

/// Checks a file; an error says what is wrong. A form that decoders here do not read is left to
/// them.
pub(super) fn check(bytes: &[u8]) -> Result<Findings, &'static str> {
    let mut file = File::new(bytes);
    match file.check() {
        Ok(()) | Err(Stop::Unknown) => Ok(file.findings),
        Err(Stop::Damaged(reason)) => Err(text(reason)),
    }
}

enum Stop {
    /// The id of the text on what is wrong.
    Damaged(&'static str),
    Unknown,
}

impl From<&'static str> for Stop {
    fn from(reason: &'static str) -> Self {
        Self::Damaged(reason)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Process {
    Sequential,
    Progressive,
}

struct Frame {
    process: Process,
    components: Vec<Component>,
    /// Blocks of eight by eight in the largest component, to which the units of a scan are padded.
    units: (usize, usize),
}

struct Component {
    id: u8,
    sampling: (usize, usize),
    table: usize,
    /// Blocks that have pixels.
    blocks: (usize, usize),
    /// Blocks of a row with those of padding.
    stride: usize,
    /// A bit for each coefficient of a block that is not zero (progressive).
    nonzero: Vec<u64>,
    /// The lowest bit that was sent of each coefficient; `None` where nothing was.
    sent: [Option<u8>; 64],
}

struct File<'a> {
    bytes: &'a [u8],
    at: usize,
    findings: Findings,
    quantisation: [Option<[u16; 64]>; 4],
    means: [Option<Codes>; 4],
    details: [Option<Codes>; 4],
    restart_interval: usize,
    frame: Option<Frame>,
}

/// A Huffman table.
#[derive(Clone)]
struct Codes {
    /// Length and symbol by the next bits; a length of 0 where the code is longer.
    quick: [(u8, u8); 1 << QUICK_CODE],
    /// By length: the first code that is too large, and what is added to a code for its symbol.
    ends: [i32; MAX_CODE + 1],
    offsets: [i32; MAX_CODE + 1],
    symbols: Vec<u8>,
}

impl Codes {
    fn new(counts: &[u8], symbols: &[u8]) -> Option<Self> {
        let mut codes =
            Self { quick: [(0, 0); 1 << QUICK_CODE], ends: [0; MAX_CODE + 1], offsets: [0; MAX_CODE + 1], symbols: symbols.to_vec() };
        let (mut code, mut index) = (0_i32, 0_i32);
        for (length, count) in (1..=MAX_CODE).zip(counts) {
            codes.offsets[length] = index - code;
            for _ in 0..*count {
                if code >= 1 << length {
                    return None;
                }
                if length <= QUICK_CODE {
                    let free = QUICK_CODE - length;
                    let from = (code as usize) << free;
                    codes.quick[from..from + (1 << free)].fill((length as u8, *symbols.get(index as usize)?));
                }
                code += 1;
                index += 1;
            }
            codes.ends[length] = code;
            code <<= 1;
        }
        Some(codes)
    }
}

const ENDS_EARLY: &str = "media-its-data-ends-early";
const GOES_ON: &str = "media-its-data-goes-on";
const BAD_CODE: &str = "media-its-data-has-a-code";
const BAD_BLOCK: &str = "media-a-block-of-its";
const BAD_NUMBER: &str = "media-its-data-has-numbers";
const BAD_ORDER: &str = "media-the-parts-of-its";
const BAD_HEADER: &str = "media-its-header-is-damaged";

/// The bits of a stretch of compressed data, which ends at a marker.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The next bits, from the highest.
    held: u32,
    count: usize,
}

impl Bits<'_> {
    /// Holds at least sixteen bits, or all that there are.
    fn fill(&mut self) {
        while self.count <= 16 {
            let Some(byte) = self.bytes.get(self.at).copied() else { return };
            if byte == 0xff {
                if self.bytes.get(self.at + 1) != Some(&0) {
                    return;
                }
                self.at += 1;
            }
            self.at += 1;
            self.held |= u32::from(byte) << (24 - self.count);
            self.count += 8;
        }
    }

    fn take(&mut self, count: usize) -> Result<u32, Stop> {
        if count == 0 {
            return Ok(0);
        }
        if self.count < count {
            self.fill();
        }
        if self.count < count {
            return Err(ENDS_EARLY.into());
        }
        let value = self.held >> (32 - count);
        self.held <<= count;
        self.count -= count;
        Ok(value)
    }

    fn symbol(&mut self, codes: &Codes) -> Result<u8, Stop> {
        if self.count < MAX_CODE {
            self.fill();
        }
        let (length, symbol) = codes.quick[(self.held >> (32 - QUICK_CODE)) as usize];
        if length > 0 {
            self.take(usize::from(length))?;
            return Ok(symbol);
        }
        for length in QUICK_CODE + 1..=MAX_CODE {
            let code = (self.held >> (32 - length)) as i32;
            if code < codes.ends[length] {
                self.take(length)?;
                return codes.symbols.get((code + codes.offsets[length]) as usize).copied().ok_or_else(|| BAD_CODE.into());
            }
        }
        Err(if self.count < MAX_CODE { ENDS_EARLY } else { BAD_CODE }.into())
    }

    /// A number of so many bits, of which the first is its sign.
    fn number(&mut self, bits: u8) -> Result<i32, Stop> {
        let value = self.take(usize::from(bits))? as i32;
        let is_negative = bits > 0 && value < 1 << (bits - 1);
        Ok(if is_negative { value - (1 << bits) + 1 } else { value })
    }

    /// Ends the stretch: bits that fill the last byte may be left, and bytes of zero.
    fn end(mut self) -> Result<usize, Stop> {
        self.held <<= self.count % 8;
        let rest = self.bytes[self.at.min(self.bytes.len())..].iter();
        let zeros = rest.take_while(|byte| **byte == 0).count();
        self.at += zeros;
        match self.bytes.get(self.at) {
            _ if self.held != 0 => Err(GOES_ON.into()),
            None => Err(ENDS_EARLY.into()),
            Some(0xff) if self.bytes.get(self.at + 1) != Some(&0) => Ok(self.at),
            Some(_) => Err(GOES_ON.into()),
        }
    }
}

/// One scan: what it sends of which components.
struct Scan {
    /// Indices of components, with their tables of means and of details.
    components: Vec<(usize, usize, usize)>,
    /// From which coefficient to which, in the zigzag order.
    band: (usize, usize),
    /// The bit before the lowest that it sends (0 in the first scan of a coefficient), and that one.
    high: u8,
    low: u8,
}

impl<'a> File<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let (means, details) = ([const { None }; 4], [const { None }; 4]);
        Self { bytes, at: 2, findings: Findings::default(), quantisation: [None; 4], means, details, restart_interval: 0, frame: None }
    }

    fn check(&mut self) -> Result<(), Stop> {
        if self.bytes.get(..2) != Some(&[0xff, 0xd8]) {
            return Err(Stop::Unknown);
        }
        let mut scans = 0;
        loop {
            match self.marker()? {
                0xd8 | 0x01 => {}
                0xd9 => return self.all_sent(),
                0xc0..=0xc2 => self.frame()?,
                // Other processes, such as arithmetic coding; the number of lines behind a scan.
                0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf | 0xdc => return Err(Stop::Unknown),
                0xc4 => self.code_tables()?,
                0xdb => self.quantisation_tables()?,
                0xdd => self.restart_interval = usize::from(u16_at(self.segment()?, 0)?),
                0xda => {
                    scans += 1;
                    if scans > MAX_SCANS {
                        return Err("media-it-has-too-many-scans".into());
                    }
                    self.scan()?;
                }
                0xee => self.findings.has_adobe_mark |= self.segment()?.starts_with(b"Adobe"),
                0xe0..=0xef | 0xfe => {
                    self.segment()?;
                }
                0xd0..=0xd7 => return Err(BAD_ORDER.into()),
                _ => return Err(BAD_HEADER.into()),
            }
        }
    }

    /// The next marker; bytes before it harm nothing where they follow no scan.
    fn marker(&mut self) -> Result<u8, Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let found = rest.windows(2).position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xff));
        let found = found.ok_or(Stop::Damaged(ENDS_EARLY))?;
        self.at += found + 2;
        Ok(rest[found + 1])
    }

    /// What follows a marker.
    fn segment(&mut self) -> Result<&'a [u8], Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = usize::from(u16_at(rest, 0)?);
        let segment = rest.get(2..length).ok_or(Stop::Damaged(BAD_HEADER))?;
        self.at += length;
        Ok(segment)
    }

    fn quantisation_tables(&mut self) -> Result<(), Stop> {
        let mut rest = self.segment()?;
        while let Some((head, tables)) = rest.split_first() {
            let (wide, index) = (usize::from(head >> 4), usize::from(head & 15));
            let length = 64 * (wide + 1);
            let slot = self.quantisation.get_mut(index).filter(|_| wide < 2).ok_or(Stop::Damaged(BAD_HEADER))?;
            let values = tables.get(..length).ok_or(Stop::Damaged(BAD_HEADER))?;
            let mut table = [0_u16; 64];
            for (value, own) in table.iter_mut().zip(values.chunks_exact(wide + 1)) {
                *value = own.iter().fold(0, |all, byte| all << 8 | u16::from(*byte));
            }
            *slot = Some(table);
            rest = &tables[length..];
        }
        Ok(())
    }

    fn code_tables(&mut self) -> Result<(), Stop> {
        let mut rest = self.segment()?;
        while let Some((head, tables)) = rest.split_first() {
            let counts = tables.get(..MAX_CODE).ok_or(Stop::Damaged(BAD_HEADER))?;
            let total = counts.iter().map(|count| usize::from(*count)).sum::<usize>();
            let symbols = tables.get(MAX_CODE..MAX_CODE + total).ok_or(Stop::Damaged(BAD_HEADER))?;
            let kind = match head >> 4 {
                0 => &mut self.means,
                1 => &mut self.details,
                _ => return Err(BAD_HEADER.into()),
            };
            let slot = kind.get_mut(usize::from(head & 15)).ok_or(Stop::Damaged(BAD_HEADER))?;
            *slot = Some(Codes::new(counts, symbols).ok_or(Stop::Damaged(BAD_HEADER))?);
            rest = &tables[MAX_CODE + total..];
        }
        Ok(())
    }

    fn frame(&mut self) -> Result<(), Stop> {
        let process = if self.bytes.get(self.at - 1) == Some(&0xc2) { Process::Progressive } else { Process::Sequential };
        let segment = self.segment()?;
        let [precision, _, _, _, _, count, rest @ ..] = segment else { return Err(BAD_HEADER.into()) };
        let (height, width) = (usize::from(u16_at(segment, 1)?), usize::from(u16_at(segment, 3)?));
        let is_bounded = (1..=MAX_SIDE as usize).contains(&width) && (1..=MAX_SIDE as usize).contains(&height);
        if *precision != 8 || !is_bounded || self.frame.is_some() {
            return Err(Stop::Unknown);
        }
        if rest.len() != usize::from(*count) * 3 || !(1..=MAX_COMPONENTS).contains(&usize::from(*count)) {
            return Err(BAD_HEADER.into());
        }
        let sampling = |own: &[u8]| (usize::from(own[1] >> 4), usize::from(own[1] & 15));
        let largest = rest.chunks_exact(3).map(sampling).fold((0, 0), |all: (usize, usize), own| (all.0.max(own.0), all.1.max(own.1)));
        let units = (width.div_ceil(8 * largest.0.max(1)), height.div_ceil(8 * largest.1.max(1)));
        let mut components = Vec::new();
        for own in rest.chunks_exact(3) {
            let (sampling, table) = (sampling(own), usize::from(own[2]));
            if !(1..=4).contains(&sampling.0) || !(1..=4).contains(&sampling.1) || table > 3 {
                return Err(BAD_HEADER.into());
            }
            let blocks = ((width * sampling.0).div_ceil(8 * largest.0), (height * sampling.1).div_ceil(8 * largest.1));
            let stride = units.0 * sampling.0;
            let nonzero = if process == Process::Progressive { vec![0; stride * units.1 * sampling.1] } else { Vec::new() };
            components.push(Component { id: own[0], sampling, table, blocks, stride, nonzero, sent: [None; 64] });
        }
        self.frame = Some(Frame { process, components, units });
        Ok(())
    }

    /// True where each component came, and in all its bits.
    fn all_sent(&self) -> Result<(), Stop> {
        let Some(frame) = &self.frame else { return Err(BAD_HEADER.into()) };
        let is_whole = |component: &Component| component.sent[0].is_some() && component.sent.iter().flatten().all(|low| *low == 0);
        if frame.components.iter().all(is_whole) { Ok(()) } else { Err(ENDS_EARLY.into()) }
    }

    fn scan(&mut self) -> Result<(), Stop> {
        let header = self.segment()?;
        let Some(frame) = &mut self.frame else { return Err(BAD_HEADER.into()) };
        let scan = scan_of(frame, header)?;
        let mut parts = Vec::new();
        for (index, means, details) in &scan.components {
            let quantisation = self.quantisation[frame.components[*index].table].as_ref().ok_or(Stop::Unknown)?;
            // Films leave out the usual tables, which decoders know.
            let needs_means = scan.band.0 == 0 && scan.high == 0;
            let needs_details = scan.band.1 > 0;
            let means = self.means[*means].as_ref();
            let details = self.details[*details].as_ref();
            if needs_means && means.is_none() || needs_details && details.is_none() {
                return Err(Stop::Unknown);
            }
            parts.push(Part { index: *index, quantisation, means, details, mean: 0 });
        }
        let mut coder = Coder { scan: &scan, process: frame.process, zero_blocks: 0 };
        let alone = parts.len() == 1;
        let (across, down) = if alone { frame.components[parts[0].index].blocks } else { frame.units };
        let count = across * down;
        let interval = if self.restart_interval == 0 { count } else { self.restart_interval };
        let mut bits = Bits { bytes: self.bytes, at: self.at, held: 0, count: 0 };
        for unit in 0..count {
            if unit > 0 && unit % interval == 0 {
                let at = coder.end(bits)?;
                let expected = 0xd0 + ((unit / interval - 1) % 8) as u8;
                let found = marker_at(self.bytes, at)?;
                if found.1 != expected {
                    return Err(BAD_ORDER.into());
                }
                bits = Bits { bytes: self.bytes, at: found.0, held: 0, count: 0 };
                for part in &mut parts {
                    part.mean = 0;
                }
            }
            let (x, y) = (unit % across, unit / across);
            for part in &mut parts {
                let component = &mut frame.components[part.index];
                let (wide, high) = if alone { (1, 1) } else { component.sampling };
                for block in 0..wide * high {
                    let at = (y * high + block / wide) * component.stride + x * wide + block % wide;
                    coder.block(&mut bits, part, component.nonzero.get_mut(at))?;
                }
            }
        }
        self.at = coder.end(bits)?;
        // Some encoders mark the end of the last interval too.
        if let Ok((next, 0xd0..=0xd7)) = marker_at(self.bytes, self.at)
            && count.is_multiple_of(interval)
        {
            self.at = next;
        }
        Ok(())
    }
}

/// Where the marker at this place ends, and its number.
fn marker_at(bytes: &[u8], at: usize) -> Result<(usize, u8), Stop> {
    let fill = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| **byte == 0xff).count();
    let marker = bytes.get(at + fill).filter(|_| fill > 0).ok_or(Stop::Damaged(ENDS_EARLY))?;
    Ok((at + fill + 1, *marker))
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Stop> {
    match bytes.get(at..at + 2) {
        Some([high, low]) => Ok(u16::from_be_bytes([*high, *low])),
        _ => Err(BAD_HEADER.into()),
    }
}

fn scan_of(frame: &mut Frame, header: &[u8]) -> Result<Scan, Stop> {
    let (count, rest) = header.split_first().ok_or(Stop::Damaged(BAD_HEADER))?;
    let count = usize::from(*count);
    let [choices @ .., start, end, bits] = rest else { return Err(BAD_HEADER.into()) };
    if !(1..=MAX_COMPONENTS).contains(&count) || choices.len() != count * 2 {
        return Err(BAD_HEADER.into());
    }
    let mut components = Vec::new();
    for choice in choices.chunks_exact(2) {
        let index = frame.components.iter().position(|component| component.id == choice[0]).ok_or(Stop::Damaged(BAD_HEADER))?;
        let (means, details) = (usize::from(choice[1] >> 4), usize::from(choice[1] & 15));
        if means > 3 || details > 3 || components.iter().any(|(other, _, _)| *other == index) {
            return Err(BAD_HEADER.into());
        }
        components.push((index, means, details));
    }
    let progressive = Scan { components, band: (usize::from(*start), usize::from(*end)), high: bits >> 4, low: bits & 15 };
    let scan = match frame.process {
        Process::Progressive => progressive,
        // Its fields say nothing there.
        Process::Sequential => Scan { band: (0, 63), high: 0, low: 0, ..progressive },
    };
    let (first, last) = scan.band;
    let is_banded = frame.process == Process::Progressive && (first > last || (first == 0) != (last == 0) || first > 0 && count > 1);
    if last > 63 || is_banded || scan.low > 13 {
        return Err(BAD_HEADER.into());
    }
    for (index, _, _) in &scan.components {
        for sent in &mut frame.components[*index].sent[first..=last] {
            let expected = (scan.high > 0).then_some(scan.high);
            if *sent != expected || scan.high > 0 && scan.low + 1 != scan.high {
                return Err(BAD_ORDER.into());
            }
            *sent = Some(scan.low);
        }
    }
    Ok(scan)
}

/// A component of a scan.
struct Part<'a> {
    index: usize,
    quantisation: &'a [u16; 64],
    means: Option<&'a Codes>,
    details: Option<&'a Codes>,
    /// The mean of the block before.
    mean: i32,
}

/// Reads the blocks of a scan.
struct Coder<'a> {
    scan: &'a Scan,
    process: Process,
    /// Blocks still to come in which nothing more is sent.
    zero_blocks: u32,
}

impl Coder<'_> {
    fn end(&mut self, bits: Bits<'_>) -> Result<usize, Stop> {
        if self.zero_blocks > 0 {
            return Err(ENDS_EARLY.into());
        }
        bits.end()
    }

    fn block(&mut self, bits: &mut Bits<'_>, part: &mut Part<'_>, nonzero: Option<&mut u64>) -> Result<(), Stop> {
        let (first, _) = self.scan.band;
        match (self.process, first, self.scan.high) {
            (Process::Sequential, _, _) => {
                self.mean(bits, part)?;
                self.details(bits, part, 1, &mut 0)
            }
            (Process::Progressive, 0, 0) => self.mean(bits, part),
            (Process::Progressive, 0, _) => bits.take(1).map(|_| ()),
            (Process::Progressive, _, 0) => self.details(bits, part, first, nonzero.ok_or(Stop::Unknown)?),
            (Process::Progressive, _, _) => self.refined_details(bits, part, nonzero.ok_or(Stop::Unknown)?),
        }
    }

    fn mean(&self, bits: &mut Bits<'_>, part: &mut Part<'_>) -> Result<(), Stop> {
        let length = bits.symbol(part.means.ok_or(Stop::Unknown)?)?;
        if length > MAX_MEAN_BITS {
            return Err(BAD_NUMBER.into());
        }
        part.mean += bits.number(length)?;
        self.check_range(part.mean, part.quantisation[0])
    }

    /// The value is what the block has after its multiplication.
    fn check_range(&self, value: i32, quantisation: u16) -> Result<(), Stop> {
        let step = i32::from(quantisation).max(1);
        let value = value.unsigned_abs().saturating_mul(1 << self.scan.low).saturating_mul(step.unsigned_abs());
        if value > (MAX_COEFFICIENT + step).unsigned_abs() { Err(BAD_NUMBER.into()) } else { Ok(()) }
    }

    /// The coefficients from `first` on, in the first scan that sends them.
    fn details(&mut self, bits: &mut Bits<'_>, part: &Part<'_>, first: usize, nonzero: &mut u64) -> Result<(), Stop> {
        if self.zero_blocks > 0 {
            self.zero_blocks -= 1;
            return Ok(());
        }
        let codes = part.details.ok_or(Stop::Unknown)?;
        let last = self.scan.band.1;
        let mut at = first;
        while at <= last {
            let symbol = bits.symbol(codes)?;
            let (zeros, length) = (usize::from(symbol >> 4), symbol & 15);
            match (zeros, length) {
                (15, 0) => {
                    at += 16;
                    // A run of zeros may reach the end of the block, as some write it.
                    if at > last + 1 {
                        return Err(BAD_BLOCK.into());
                    }
                }
                (_, 0) => {
                    self.zero_blocks = self.run(bits, zeros)?;
                    return Ok(());
                }
                _ => {
                    at += zeros;
                    if at > last {
                        return Err(BAD_BLOCK.into());
                    }
                    if length > MAX_DETAIL_BITS {
                        return Err(BAD_NUMBER.into());
                    }
                    let value = bits.number(length)?;
                    self.check_range(value, part.quantisation[at])?;
                    *nonzero |= 1 << at;
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// How many blocks follow this one in which nothing is sent.
    fn run(&self, bits: &mut Bits<'_>, length: usize) -> Result<u32, Stop> {
        match (self.process, length) {
            (_, 0) => Ok(0),
            (Process::Progressive, _) => Ok((1 << length) + bits.take(length)? - 1),
            (Process::Sequential, _) => Err(BAD_CODE.into()),
        }
    }

    /// One more bit of each coefficient of the band.
    fn refined_details(&mut self, bits: &mut Bits<'_>, part: &Part<'_>, nonzero: &mut u64) -> Result<(), Stop> {
        let codes = part.details.ok_or(Stop::Unknown)?;
        let (first, last) = self.scan.band;
        let was_nonzero = *nonzero;
        let mut at = first;
        let mut is_done = self.zero_blocks > 0;
        if is_done {
            self.zero_blocks -= 1;
        }
        while at <= last && !is_done {
            let symbol = bits.symbol(codes)?;
            let (mut zeros, length) = (usize::from(symbol >> 4), symbol & 15);
            match (zeros, length) {
                (15, 0) | (_, 1) => {}
                (_, 0) => {
                    self.zero_blocks = self.run(bits, zeros)?;
                    is_done = true;
                    continue;
                }
                _ => return Err(BAD_CODE.into()),
            }
            bits.take(usize::from(length))?;
            // Passes over as many zeros, and refines what is not zero on the way.
            loop {
                if at > last {
                    return if length == 1 { Err(BAD_BLOCK.into()) } else { Ok(()) };
                }
                if was_nonzero >> at & 1 == 1 {
                    bits.take(1)?;
                } else if zeros == 0 {
                    break;
                } else {
                    zeros -= 1;
                }
                at += 1;
            }
            if length == 1 {
                *nonzero |= 1 << at;
            }
            at += 1;
        }
        let refined = (at..=last).filter(|at| was_nonzero >> at & 1 == 1).count();
        for _ in 0..refined {
            bits.take(1)?;
        }
        Ok(())
    }
}
