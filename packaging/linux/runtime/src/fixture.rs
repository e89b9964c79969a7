//! Makes small squashfs images, without compression, for tests.

/// Largest block of data.
const BLOCK: usize = 4096;
const FOLDER_KIND: u16 = 1;
const FILE_KIND: u16 = 2;
const LINK_KIND: u16 = 3;
/// Bits that say that a block is not compressed.
const METADATA_PLAIN: u16 = 1 << 15;
const DATA_PLAIN: u32 = 1 << 24;

/// A file (with its permissions), link or folder.
pub(crate) enum Entry {
    File(&'static str, u16, Vec<u8>),
    Link(&'static str, &'static str),
    Folder(&'static str, Vec<Entry>),
}

#[derive(Default)]
struct Tables {
    data: Vec<u8>,
    inodes: Vec<u8>,
    folders: Vec<u8>,
}

/// An image of a folder with these entries; `made_secs` is its time. Its tables are one block of
/// metadata each.
pub(crate) fn image(made_secs: u32, root: &[Entry]) -> Vec<u8> {
    let mut tables = Tables::default();
    let root = tables.folder(root);
    let superblock = 96_u64;
    let inodes_at = superblock + tables.data.len() as u64;
    let folders_at = inodes_at + 2 + tables.inodes.len() as u64;
    let end = folders_at + 2 + tables.folders.len() as u64;
    let mut image = Vec::new();
    for number in [0x7371_7368, 0, made_secs, BLOCK as u32, 0] {
        image.extend(number.to_le_bytes());
    }
    for number in [1_u16, 12, 0, 0, 4, 0] {
        image.extend(number.to_le_bytes());
    }
    for number in [u64::from(root), end, end, end, inodes_at, folders_at, end, end] {
        image.extend(number.to_le_bytes());
    }
    assert_eq!(image.len() as u64, superblock);
    image.extend(&tables.data);
    for table in [&tables.inodes, &tables.folders] {
        assert!(table.len() <= 8192, "one block");
        image.extend((table.len() as u16 | METADATA_PLAIN).to_le_bytes());
        image.extend(table);
    }
    image
}

impl Tables {
    /// Writes an entry; where its inode is, with its kind and name.
    fn entry(&mut self, entry: &Entry) -> (u16, u16, &'static str) {
        match entry {
            Entry::Folder(name, entries) => (self.folder(entries), FOLDER_KIND, name),
            Entry::Link(name, target) => {
                let at = self.inode(LINK_KIND, 0o777);
                self.numbers(&[1, target.len() as u32]);
                self.inodes.extend(target.as_bytes());
                (at, LINK_KIND, name)
            }
            Entry::File(name, mode, bytes) => {
                let begin = 96 + self.data.len() as u32;
                let at = self.inode(FILE_KIND, *mode);
                self.numbers(&[begin, u32::MAX, 0, bytes.len() as u32]);
                for block in bytes.chunks(BLOCK) {
                    self.numbers(&[block.len() as u32 | DATA_PLAIN]);
                    self.data.extend(block);
                }
                (at, FILE_KIND, name)
            }
        }
    }

    fn folder(&mut self, entries: &[Entry]) -> u16 {
        let written: Vec<_> = entries.iter().map(|entry| self.entry(entry)).collect();
        let begin = self.folders.len();
        for (at, kind, name) in written {
            // Each under a head of its own: one entry less one, the block, the inode's number.
            self.folders.extend([0; 12]);
            for number in [at, 0, kind, name.len() as u16 - 1] {
                self.folders.extend(number.to_le_bytes());
            }
            self.folders.extend(name.as_bytes());
        }
        let size = (self.folders.len() - begin + 3) as u16;
        let at = self.inode(FOLDER_KIND, 0o755);
        self.numbers(&[0, 2]);
        for number in [size, begin as u16] {
            self.inodes.extend(number.to_le_bytes());
        }
        self.numbers(&[1]);
        at
    }

    /// The beginning of an inode; where it is.
    fn inode(&mut self, kind: u16, mode: u16) -> u16 {
        let at = self.inodes.len() as u16;
        for number in [kind, mode, 0, 0, 0, 0, 0, 0] {
            self.inodes.extend(number.to_le_bytes());
        }
        at
    }

    fn numbers(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.inodes.extend(number.to_le_bytes());
        }
    }
}
