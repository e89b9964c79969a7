//! The functions that exist once for each instruction set.

/// Defines the functions of [`Kernels`](crate::table::Kernels) for a form of factors, each with the
/// attribute that enables its instruction set, and the table `KERNELS`.
macro_rules! entries {
    (#[$attribute:meta] $words:ty) => {
        #[$attribute]
        unsafe fn multiply_tile(tile: &crate::table::Tile) {
            // SAFETY: as the caller promises, in every function here.
            unsafe { crate::tile::multiply::<$words>(tile) }
        }
        #[$attribute]
        unsafe fn pack(from: *const f32, count: usize, to: *mut u32) {
            // SAFETY: see `multiply_tile`.
            unsafe { <$words as crate::simd::Words>::pack(from, count, to) }
        }
        #[$attribute]
        unsafe fn unpack_f16(from: *const u16, count: usize, to: *mut f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::pack::unpack_f16::<<$words as crate::simd::Words>::Unit>(from, count, to) }
        }
        #[$attribute]
        unsafe fn transpose(from: *const u32, from_stride: usize, words: usize, to: *mut u32, to_stride: usize) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::pack::transpose::<<$words as crate::simd::Words>::Unit>(from, from_stride, words, to, to_stride) }
        }
        #[$attribute]
        unsafe fn transpose_f16(from: *const u8, from_stride: usize, words: usize, to: *mut u32, to_stride: usize) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::pack::transpose_f16::<<$words as crate::simd::Words>::Unit>(from, from_stride, words, to, to_stride) }
        }
        #[$attribute]
        unsafe fn pair_rows(even: *const f32, odd: *const f32, count: usize, to: *mut u32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::pack::pair_rows::<$words>(even, odd, count, to) }
        }
        #[$attribute]
        unsafe fn pair_channels(from: *const f32, window: usize, pairs: usize, to: *mut u32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::pack::pair_channels::<$words>(from, window, pairs, to) }
        }
        #[$attribute]
        unsafe fn pack_pixels(panel: &crate::window::PixelPanel<'_>, to: *mut u32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::pack::pixels::<$words>(panel, to) }
        }
        #[$attribute]
        unsafe fn pack_lines(block: &crate::lines::LineBlock<'_>, to: *mut u32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::lines::pack_lines::<$words>(block, to) }
        }
        #[$attribute]
        unsafe fn transform_image(block: &crate::transforms::ImageBlock<'_>) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::transforms::transform_image(block) }
        }
        #[$attribute]
        unsafe fn transform_windows(windows: &[f32; crate::transforms::WINDOW_VALUES], count: usize, to: *mut f32, stride: usize) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::transforms::transform_windows(windows, count, to, stride) }
        }
        #[$attribute]
        unsafe fn transform_sums(block: &crate::transforms::SumsBlock<'_>) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::transforms::transform_sums(block) }
        }
        #[$attribute]
        unsafe fn weigh_scores(row: &crate::table::ScoreRow) -> (f32, f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::rowwise::weigh_scores::<<$words as crate::simd::Words>::Unit>(row) }
        }
        #[$attribute]
        unsafe fn scale(values: *mut f32, count: usize, factor: f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::rowwise::scale_and_offset(values, count, factor, 0.0, values) }
        }
        #[$attribute]
        unsafe fn scale_and_offset(from: *const f32, count: usize, factor: f32, offset: f32, to: *mut f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::rowwise::scale_and_offset(from, count, factor, offset, to) }
        }
        #[$attribute]
        unsafe fn leaky_relu(values: *mut f32, count: usize, slope: f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::rowwise::leaky_relu(values, count, slope) }
        }
        #[$attribute]
        unsafe fn gelu(from: *const f32, count: usize, to: *mut f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::rowwise::gelu::<<$words as crate::simd::Words>::Unit>(from, count, to) }
        }
        #[$attribute]
        unsafe fn add(from: *const f32, other: *const f32, count: usize, to: *mut f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::rowwise::combine(from, other, count, to, |a, b| a + b) }
        }
        #[$attribute]
        unsafe fn multiply(from: *const f32, other: *const f32, count: usize, to: *mut f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::rowwise::combine(from, other, count, to, |a, b| a * b) }
        }
        #[$attribute]
        unsafe fn add_product(from: *const f32, factors: *const f32, addend: *const f32, count: usize, to: *mut f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::rowwise::add_product(from, factors, addend, count, to) }
        }
        #[$attribute]
        unsafe fn sums(from: *const f32, count: usize, centre: f32) -> (f32, f32) {
            // SAFETY: see `multiply_tile`.
            unsafe { crate::rowwise::sums(from, count, centre) }
        }

        /// The functions of this file's instruction set.
        pub(crate) static KERNELS: crate::table::Kernels = crate::table::Kernels {
            lanes: <<$words as crate::simd::Words>::Unit as crate::simd::Simd>::LANES,
            tile_rows: <<$words as crate::simd::Words>::Unit as crate::simd::Simd>::TILE_ROWS,
            tile_vectors: <<$words as crate::simd::Words>::Unit as crate::simd::Simd>::TILE_VECTORS,
            pairs: <$words as crate::simd::Words>::PAIRS,
            multiply_tile,
            registers: None,
            pack,
            unpack_f16,
            transpose,
            transpose_f16,
            pair_rows,
            pair_channels,
            pack_pixels,
            pack_lines,
            transform_image,
            transform_windows,
            transform_sums,
            weigh_scores,
            scale,
            scale_and_offset,
            leaky_relu,
            gelu,
            add,
            multiply,
            add_product,
            sums,
        };
    };
}
pub(crate) use entries;
