//! Reads squashfs 4.0 as `mksquashfs -comp gzip -no-xattrs` writes it: folders, files and symbolic
//! links.
//!
//! All numbers are little-endian. Inodes and directories are streams cut into blocks of 8 KiB, each
//! compressed by itself; an inode is named by the block that it starts in and its offset there.
//! What is damaged is an error, never a panic.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path};

use flate2::read::ZlibDecoder;

const MAGIC: u32 = 0x7371_7368;
const GZIP: u16 = 1;
const SUPERBLOCK: usize = 96;
const METADATA_BLOCK: u64 = 8192;
/// Largest size of a block of data that the format allows.
const LARGEST_BLOCK: u64 = 1 << 20;
const NO_FRAGMENT: u32 = u32::MAX;
/// Bit of a metadata block's header.
const METADATA_PLAIN: u16 = 1 << 15;
/// Bit of a data block's size.
const DATA_PLAIN: u32 = 1 << 24;

/// The bits of a mode that are kept.
const PERMISSIONS: u32 = 0o777;
/// The end of the names of what is being written.
pub(crate) const PART_ENDING: &str = ".part";

/// An image in a file, behind something else.
pub(crate) struct Image {
    file: File,
    start: u64,
    block_size: u64,
    root: u64,
    inodes: u64,
    directories: u64,
    fragments: u64,
    superblock: [u8; SUPERBLOCK],
}

/// What an inode says.
enum Node {
    Folder { block: u64, offset: u64, size: u64 },
    File { size: u64, data: u64, fragment: Option<(u32, u64)>, blocks: Vec<u32>, mode: u16 },
    Link { target: String },
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the image is damaged: {what}"))
}

impl Image {
    /// Opens the image that begins at byte `start`.
    pub(crate) fn open(mut file: File, start: u64) -> io::Result<Self> {
        let mut superblock = [0; SUPERBLOCK];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut superblock)?;
        let mut fields = Fields(&superblock);
        let magic = fields.u32()?;
        fields.skip(8)?;
        let block_size = u64::from(fields.u32()?);
        fields.skip(4)?;
        let compressor = fields.u16()?;
        fields.skip(6)?;
        let version = fields.u16()?;
        fields.skip(2)?;
        let root = fields.u64()?;
        fields.skip(24)?;
        let [inodes, directories, fragments] = [fields.u64()?, fields.u64()?, fields.u64()?];
        if magic != MAGIC || version != 4 || compressor != GZIP || !(1..=LARGEST_BLOCK).contains(&block_size) {
            return Err(damaged("it does not begin as it should"));
        }
        Ok(Self { file, start, block_size, root, inodes, directories, fragments, superblock })
    }

    /// The image's head, with the time and the sizes of its contents.
    pub(crate) const fn superblock(&self) -> &[u8] {
        &self.superblock
    }

    /// Writes everything in the image into a folder, which is created, and flushes it to the disk.
    pub(crate) fn extract(&mut self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)?;
        self.complete(folder)
    }

    /// Puts back what a folder lacks of the image, by kind, size, permissions and the target of
    /// links, and flushes it to the disk. What is there stays, and programs that run from it are
    /// not disturbed.
    pub(crate) fn complete(&mut self, folder: &Path) -> io::Result<()> {
        let root = self.node(self.root >> 16, self.root & 0xffff)?;
        self.put_back(root, folder)
    }

    fn put_back(&mut self, node: Node, path: &Path) -> io::Result<()> {
        let found = fs::symlink_metadata(path).ok();
        match node {
            Node::Link { target } => {
                if fs::read_link(path).is_ok_and(|it| it == Path::new(&target)) {
                    return Ok(());
                }
                replace(path, |part| symlink(&target, part))
            }
            Node::File { size, data, fragment, blocks, mode } => {
                let mode = u32::from(mode) & PERMISSIONS;
                if found.is_some_and(|it| it.is_file() && it.len() == size && it.permissions().mode() & PERMISSIONS == mode) {
                    return Ok(());
                }
                replace(path, |part| {
                    let mut file = io::BufWriter::new(File::create_new(part)?);
                    self.copy_file(&mut file, size, data, fragment, &blocks)?;
                    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                    file.set_permissions(fs::Permissions::from_mode(mode))?;
                    // A name for bytes that are not on the disk yet is an empty file after a power
                    // cut.
                    file.sync_all()
                })
            }
            Node::Folder { block, offset, size } => {
                if !found.as_ref().is_some_and(fs::Metadata::is_dir) {
                    if found.is_some() {
                        fs::remove_file(path)?;
                    }
                    fs::create_dir(path)?;
                }
                for (name, block, offset) in self.entries(block, offset, size)? {
                    let mut parts = Path::new(&name).components();
                    if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
                        return Err(damaged("a name that is none"));
                    }
                    let node = self.node(block, offset)?;
                    self.put_back(node, &path.join(name))?;
                }
                sync_folder(path)
            }
        }
    }

    fn node(&mut self, block: u64, offset: u64) -> io::Result<Node> {
        let mut stream = Metadata::new(self, self.inodes + block, offset)?;
        let [kind, mode] = [stream.u16()?, stream.u16()?];
        stream.skip(12)?;
        Ok(match kind {
            1 => {
                let block = u64::from(stream.u32()?);
                stream.skip(4)?;
                let [size, offset] = [stream.u16()?, stream.u16()?].map(u64::from);
                Node::Folder { block, offset, size }
            }
            8 => {
                stream.skip(4)?;
                let [size, block] = [stream.u32()?, stream.u32()?].map(u64::from);
                stream.skip(6)?;
                Node::Folder { block, offset: u64::from(stream.u16()?), size }
            }
            2 | 9 => {
                let (data, size, index, offset) = if kind == 2 {
                    let [data, index, offset, size] = [stream.u32()?, stream.u32()?, stream.u32()?, stream.u32()?];
                    (u64::from(data), u64::from(size), index, offset)
                } else {
                    let [data, size] = [stream.u64()?, stream.u64()?];
                    stream.skip(12)?;
                    let [index, offset] = [stream.u32()?, stream.u32()?];
                    stream.skip(4)?;
                    (data, size, index, offset)
                };
                let fragment = (index != NO_FRAGMENT).then_some((index, u64::from(offset)));
                let count = if fragment.is_some() { size / stream.image.block_size } else { size.div_ceil(stream.image.block_size) };
                let blocks = (0..count).map(|_| stream.u32()).collect::<io::Result<_>>()?;
                Node::File { size, data, fragment, blocks, mode }
            }
            3 | 10 => {
                stream.skip(4)?;
                let length = stream.u32()? as usize;
                let target = String::from_utf8(stream.bytes(length)?).map_err(|_| damaged("a link that is no text"))?;
                Node::Link { target }
            }
            _ => return Err(damaged("something that is neither a file nor a folder")),
        })
    }

    /// Names in a folder, each with the place of its inode.
    fn entries(&mut self, block: u64, offset: u64, size: u64) -> io::Result<Vec<(String, u64, u64)>> {
        // Three bytes for "." and "..", which are not there.
        let mut left = size.saturating_sub(3);
        let mut entries = Vec::new();
        let mut stream = Metadata::new(self, self.directories + block, offset)?;
        while left > 0 {
            let [count, block] = [stream.u32()?, stream.u32()?];
            stream.skip(4)?;
            left = left.checked_sub(12).ok_or_else(|| damaged("a folder's size"))?;
            for _ in 0..=count {
                let offset = stream.u16()?;
                stream.skip(4)?;
                let length = usize::from(stream.u16()?) + 1;
                let name = String::from_utf8(stream.bytes(length)?).map_err(|_| damaged("a name that is no text"))?;
                left = left.checked_sub(8 + length as u64).ok_or_else(|| damaged("a folder's size"))?;
                entries.push((name, u64::from(block), u64::from(offset)));
            }
        }
        Ok(entries)
    }

    fn copy_file(&mut self, out: &mut impl Write, size: u64, data: u64, fragment: Option<(u32, u64)>, blocks: &[u32]) -> io::Result<()> {
        let (mut position, mut left) = (data, size);
        for &block in blocks {
            let wanted = left.min(self.block_size);
            let bytes = if block == 0 { vec![0; wanted as usize] } else { self.data(position, block)? };
            if bytes.len() as u64 != wanted {
                return Err(damaged("a block's size"));
            }
            out.write_all(&bytes)?;
            position += u64::from(block & !DATA_PLAIN);
            left -= wanted;
        }
        let Some((index, offset)) = fragment else { return Ok(()) };
        let table = u64::from(index) / 512;
        let block = u64::from_le_bytes(self.at(self.fragments + table * 8)?);
        let mut stream = Metadata::new(self, block, u64::from(index) % 512 * 16)?;
        let (start, packed) = (stream.u64()?, stream.u32()?);
        let bytes = self.data(start, packed)?;
        let part = usize::try_from(offset).ok().and_then(|from| bytes.get(from..from.checked_add(left as usize)?));
        out.write_all(part.ok_or_else(|| damaged("the end of a file"))?)
    }

    fn at<const N: usize>(&mut self, position: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.seek(SeekFrom::Start(self.start + position))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// A block of data, unpacked.
    fn data(&mut self, position: u64, size: u32) -> io::Result<Vec<u8>> {
        self.block(position, u64::from(size & !DATA_PLAIN), size & DATA_PLAIN != 0, LARGEST_BLOCK)
    }

    fn block(&mut self, position: u64, size: u64, plain: bool, limit: u64) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(self.start + position))?;
        let mut bytes = Vec::new();
        if plain {
            (&self.file).take(size.min(limit)).read_to_end(&mut bytes)?;
        } else {
            ZlibDecoder::new((&self.file).take(size)).take(limit).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }
}

/// Writes something under another name, which then takes the place of what is there.
fn replace(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let part = path.with_file_name(format!(".{}", new_part_name()));
    let replaced = write(&part).and_then(|()| {
        if fs::symlink_metadata(path).is_ok_and(|it| it.is_dir()) {
            fs::remove_dir_all(path)?;
        }
        fs::rename(&part, path)
    });
    if replaced.is_err() {
        let _ = fs::remove_file(&part);
    }
    replaced
}

/// A name that no other process makes, in whatever namespace of processes it is.
pub(crate) fn new_part_name() -> String {
    format!("{:016x}{PART_ENDING}", RandomState::new().build_hasher().finish())
}

/// Makes the names in a folder outlast a power cut.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A stream of metadata that begins in the middle of a block.
struct Metadata<'a> {
    image: &'a mut Image,
    /// Where the next block begins.
    next: u64,
    block: Vec<u8>,
    offset: usize,
}

impl<'a> Metadata<'a> {
    fn new(image: &'a mut Image, position: u64, offset: u64) -> io::Result<Self> {
        let mut stream = Self { image, next: position, block: Vec::new(), offset: 0 };
        stream.load()?;
        stream.offset = usize::try_from(offset).map_err(|_| damaged("a place outside it"))?;
        Ok(stream)
    }

    fn load(&mut self) -> io::Result<()> {
        let header = u16::from_le_bytes(self.image.at(self.next)?);
        let size = u64::from(header & !METADATA_PLAIN);
        self.block = self.image.block(self.next + 2, size, header & METADATA_PLAIN != 0, METADATA_BLOCK)?;
        self.next += 2 + size;
        self.offset = 0;
        if self.block.is_empty() { Err(damaged("a block without contents")) } else { Ok(()) }
    }

    fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let here = self.block.get(self.offset..).unwrap_or_default();
            if here.is_empty() {
                self.load()?;
                continue;
            }
            let part = &here[..here.len().min(count - bytes.len())];
            bytes.extend_from_slice(part);
            self.offset += part.len();
        }
        Ok(bytes)
    }

    fn skip(&mut self, count: usize) -> io::Result<()> {
        self.bytes(count).map(drop)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        Fields(&self.bytes(N)?).array()
    }

    fn u16(&mut self) -> io::Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Numbers in a row of bytes.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk().ok_or_else(|| damaged("it ends too early"))?;
        self.0 = rest;
        Ok(*array)
    }

    pub(crate) fn skip(&mut self, count: usize) -> io::Result<()> {
        self.0 = self.0.get(count..).ok_or_else(|| damaged("it ends too early"))?;
        Ok(())
    }

    pub(crate) fn u16(&mut self) -> io::Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
