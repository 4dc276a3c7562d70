//! Views: the chapter's code, and random views of random tensors, held against `ndarray`.

#![allow(clippy::needless_borrows_for_generic_args)] // Views and references to them are arguments alike.
use crate::devices;
use ndarray::{ArrayD, ArrayViewD, Axis as Direction, IxDyn, Slice};
use slyz::prelude::*;
use slyz::views::*;
use slyz::{CallError, Error};

axis!(N, M, K);

/// The chapter's listings, one after another.
mod chapter {
    use super::*;

    #[test]
    fn tensor_view() {
        let view: TensorView<f32> = TensorView::new([2, 3, 32, 32]);
        assert_eq!(format!("Shape: {:?}", view.shape()), "Shape: [2, 3, 32, 32]");
        assert_eq!(format!("Strides: {:?}", view.strides()), "Strides: [3072, 1024, 32, 1]");
        assert_eq!(format!("Elements: {}", view.numel()), "Elements: 6144");
        let transposed = TensorView::<f32>::with_strides([32, 32, 3, 2], [1, 32, 1024, 3072]);
        assert!(!transposed.is_contiguous());
        let col_major = TensorView::new([4, 4, 1, 1]).with_layout(MemoryLayout::ColumnMajor);
        assert_eq!(col_major.strides(), &[1, 4, 16, 16]);
    }

    #[test]
    fn partition_view() {
        let tensor: TensorView<f32> = TensorView::new([64, 64, 1, 1]);
        let partition: PartitionView<f32> = PartitionView::new(tensor, [16, 16, 1, 1]);
        assert_eq!(format!("Tile count: {:?}", partition.tile_count()), "Tile count: [4, 4, 1, 1]");
        assert_eq!(format!("Total tiles: {}", partition.total_tiles()), "Total tiles: 16");
        let non_aligned: TensorView<f32> = TensorView::new([100, 100, 1, 1]);
        let partition2: PartitionView<f32> = PartitionView::new(non_aligned, [16, 16, 1, 1]);
        let Some(tile_info) = partition2.get_tile([6, 6, 0, 0]) else { panic!("there is such a tile") };
        assert_eq!(format!("Edge tile size: {:?}", tile_info.size), "Edge tile size: [4, 4, 1, 1]");
        assert_eq!(format!("Is edge tile: {}", tile_info.is_edge), "Is edge tile: true");
        assert_eq!(partition2.get_tile([7, 0, 0, 0]), None);
    }

    #[test]
    fn tiled_reductions() {
        assert_eq!(TILE_SIZE, 16);
        let data: Vec<f32> = (1..=1024).map(|x| x as f32).collect();
        let sum = tiled_sum_2d(&data, 32, 32);
        assert!((sum - 524800.0).abs() < 1e-3);
        let max_data = vec![1.0, 5.0, 3.0, 9.0, 2.0, 7.0, 8.0, 4.0, 6.0];
        let max = tiled_max_2d(&max_data, 3, 3);
        assert!((max - 9.0).abs() < 1e-5);
        let min_data = vec![5.0, 3.0, 7.0, -1.0, 9.0, 2.0];
        let min = tiled_min_2d(&min_data, 2, 3);
        assert!((min - (-1.0)).abs() < 1e-5);

        let (width, height) = (32, 32);
        let sum = tiled_reduce_2d::<SumOp>(&data, width, height);
        let max = tiled_reduce_2d::<MaxOp>(&data, width, height);
        let min = tiled_reduce_2d::<MinOp>(&data, width, height);
        assert_eq!((sum, max, min), (524800.0, 1024.0, 1.0));
    }

    #[test]
    fn what_the_chapters_crate_panics_at() {
        assert_eq!(PartitionView::new(TensorView::new([8, 8]), [0, 4]).total_tiles(), 0);
        assert!(PartitionView::new(TensorView::new([0, 8]), [4, 4]).tiles().next().is_none());
        let larger = PartitionView::new(TensorView::new([3, 3]), [16, 16]);
        assert_eq!(larger.get_tile([0, 0]).map(|tile| (tile.size, tile.is_edge)), Some(([3, 3], true)));
        assert_eq!(tiled_sum_2d(&[], 0, 5), 0.0);
        assert_eq!(tiled_max_2d(&[], 5, 0), f32::NEG_INFINITY);
        assert!(tiled_sum_2d(&[1.0; 3], 2, 2).is_nan());
        assert!(matches!(
            try_tiled_sum_2d(&[1.0; 3], 2, 2),
            Err(Error::View(ViewError::Length { expected: 4, found: 3, .. }))
        ));
        assert_eq!(TensorView::new([usize::MAX, 2, usize::MAX]).numel(), usize::MAX);
    }
}

/// Numbers that are drawn.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// The same random steps on a view of ours and one of `ndarray`'s.
fn steps<'a>(
    dice: &mut Dice,
    ours: TensorView<'a, i32, 3>,
    theirs: ArrayViewD<'a, i32>,
) -> Result<(TensorView<'a, i32, 3>, ArrayViewD<'a, i32>), ViewError> {
    let mut ours = ours;
    let mut theirs = theirs;
    for _ in 0..dice.below(5) {
        let axis = dice.below(3);
        let extent = ours.shape()[axis];
        match dice.below(4) {
            0 => {
                let start = dice.below(extent + 1);
                let end = start + dice.below(extent - start + 1);
                ours = ours.slice(axis, start..end)?;
                theirs.slice_axis_inplace(Direction(axis), Slice::from(start..end));
            }
            1 => {
                let step = [-3, -2, -1, 2, 3][dice.below(5)];
                ours = ours.step(axis, step)?;
                // Theirs turns what it cut from the front; ours counts from the end.
                let whole = extent as isize;
                let kept = whole - 1 - (whole - 1).rem_euclid(step.abs());
                if step < 0 && whole > 0 {
                    theirs.slice_axis_inplace(Direction(axis), Slice::from(whole - 1 - kept..));
                }
                theirs.slice_axis_inplace(Direction(axis), Slice::new(0, None, step));
            }
            2 => {
                let other = dice.below(3);
                ours = ours.transpose(axis, other)?;
                theirs.swap_axes(axis, other);
            }
            _ => {
                let order = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][dice.below(4)];
                ours = ours.permute(order)?;
                theirs = theirs.permuted_axes(IxDyn(&order));
            }
        }
    }
    Ok((ours, theirs))
}

/// What every device makes of views is what `ndarray` does.
#[test]
fn views_are_those_of_ndarray() {
    let ways: Vec<_> = devices()
        .iter()
        .map(|device| {
            let map = slyz::compile_on(device, |x: Arr<i32, (N, M, K)>, a: Exp<i32>| x * a + 1).unwrap();
            let sum = slyz::compile_on(device, |x: Arr<i32, (N, M, K)>| x.sum()).unwrap();
            let rows = slyz::compile_on(device, |x: Arr<i32, (N, M, K)>| x.axis::<1>().sum()).unwrap();
            let both = |x: Arr<i32, (N, M, K)>, y: Arr<i32, (N, M, K)>| x - y;
            (map, sum, rows, slyz::compile_on(device, both).unwrap())
        })
        .collect();
    for seed in slyz_trials::trials("views", 24) {
        let mut dice = Dice(seed);
        let dims = [dice.below(7), 1 + dice.below(6), dice.below(8)];
        let data: Vec<i32> = (0..dims.iter().product::<usize>()).map(|_| dice.below(2000) as i32 - 1000).collect();
        let tensor = Tensor::<i32, (N, M, K)>::from_vec(dims, data.clone()).unwrap();
        let array = ArrayD::from_shape_vec(IxDyn(&dims), data).unwrap();
        let (view, expected) = steps(&mut dice, tensor.view().unwrap(), array.view()).unwrap();
        assert_eq!(view.shape(), expected.shape());
        assert_eq!(view.to_vec().unwrap(), expected.iter().copied().collect::<Vec<i32>>(), "{view:?}");
        for (map, sum, rows, both) in &ways {
            let here = map.device();
            let mapped: Vec<i32> = expected.iter().map(|x| x * 3 + 1).collect();
            assert_eq!(map.call(&view, 3).unwrap().to_vec().unwrap(), mapped, "{here}: {view:?}");
            assert_eq!(sum.call(view).unwrap().value().unwrap(), expected.sum(), "{here}: {view:?}");
            let sums: Vec<i32> = expected.sum_axis(Direction(1)).iter().copied().collect();
            assert_eq!(rows.call(&view).unwrap().to_vec().unwrap(), sums, "{here}: {view:?}");
            let turned = view.step(0, -1).unwrap();
            let mut other = expected.clone();
            other.invert_axis(Direction(0));
            let differences: Vec<i32> = (&expected - &other).iter().copied().collect();
            assert_eq!(both.call(&view, &turned).unwrap().to_vec().unwrap(), differences, "{here}: {view:?}");
            // Into a view of a larger tensor, the same way round.
            let mut into = Tensor::<i32>::filled(dims, 7).unwrap();
            let mut reference = ArrayD::from_elem(IxDyn(&dims), 7);
            let mut part = into.view_mut::<3>().unwrap().step(1, -2).unwrap();
            let shape = *part.shape();
            let source = Tensor::<i32, (N, M, K)>::filled(shape, 4).unwrap();
            map.call_into(&mut part, &source, 5).unwrap();
            for row in (0..dims[1]).rev().step_by(2) {
                reference.index_axis_mut(Direction(1), row).fill(21);
            }
            assert_eq!(into.to_vec().unwrap(), reference.iter().copied().collect::<Vec<i32>>(), "{here}: {shape:?}");
        }
    }
}

/// The chapter's own algorithm gives what the fastest one gives.
#[test]
fn tiles_of_blocks() {
    for (width, height) in [(0, 3), (1, 1), (16, 16), (17, 1), (100, 33), (700, 300)] {
        let data: Vec<f32> = (0..width * height).map(|k| ((k * 7) % 13) as f32).collect();
        let sum: f32 = data.iter().sum();
        assert_eq!(reduce_2d_by::<SumOp>(Strategy::Tiled16, &data, width, height).unwrap(), sum);
        let max = data.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(reduce_2d_by::<MaxOp>(Strategy::Tiled16, &data, width, height).unwrap(), max);
    }
    assert!(reduce_2d_by::<SumOp>(Strategy::Tiled16, &[1.0], 2, 2).is_err());
}

/// All ways to keep and to reduce axes.
#[test]
fn reductions_along_axes() {
    let dims = [2, 3, 4, 5];
    let data: Vec<i32> = (0..120).map(|k| k * k % 31 - 15).collect();
    let tensor = Tensor::<i32>::from_vec(dims, data.clone()).unwrap();
    let array = ArrayD::from_shape_vec(IxDyn(&dims), data).unwrap();
    let view = tensor.view::<4>().unwrap().permute([2, 0, 3, 1]).unwrap();
    let turned = array.view().permuted_axes(IxDyn(&[2, 0, 3, 1]));
    for mask in 0..16usize {
        let axes: Vec<usize> = (0..4).filter(|axis| mask >> axis & 1 == 1).collect();
        let mut expected = turned.to_owned();
        for &axis in axes.iter().rev() {
            expected = expected.sum_axis(Direction(axis));
        }
        let sums = view.reduce::<SumOp>(&axes).unwrap();
        assert_eq!((sums.dims(), sums.to_vec().unwrap()), (expected.shape(), expected.iter().copied().collect()));
    }
    assert!(matches!(view.reduce::<SumOp>(&[4]), Err(Error::View(ViewError::Axis { axis: 4, rank: 4 }))));
}

/// Repetitions, windows, diagonals, tiles, and shapes of another rank.
#[test]
fn other_views() {
    let x = Tensor::<f32, (N, M)>::from_vec([4, 6], (0..24).map(|k| k as f32).collect()).unwrap();
    let view = x.view::<2>().unwrap();
    let value = |position: [usize; 2]| (position[0] * 6 + position[1]) as f32;
    for device in devices() {
        let matrix = slyz::compile_on(&device, |x: Arr<f32, (N, M)>| x * 2.0).unwrap();
        let line = slyz::compile_on(&device, |x: Arr<f32, N>| x * 2.0).unwrap();
        let cube = slyz::compile_on(&device, |x: Arr<f32, (N, M, K)>| x.axis::<2>().sum()).unwrap();
        let diagonal = view.diagonal::<1>(0, 1).unwrap();
        assert_eq!(line.call(&diagonal).unwrap().to_vec().unwrap(), [0.0, 14.0, 28.0, 42.0]);
        let repeated = view.slice(1, 2..3).unwrap().broadcast([2, 4, 3]).unwrap();
        assert_eq!(cube.call(&repeated).unwrap().to_vec().unwrap(), [6.0, 24.0, 42.0, 60.0, 6.0, 24.0, 42.0, 60.0]);
        let windows: TensorView<f32, 3> = view.windows(1, 3, 1).unwrap();
        let sums: Vec<f32> = (0..4).flat_map(|i| (0..4).map(move |j| 3.0 * value([i, j + 1]))).collect();
        assert_eq!(cube.call(&windows).unwrap().to_vec().unwrap(), sums);
        let tiles = x.view_as([6, 4], MemoryLayout::Tiled([3, 2])).unwrap();
        let tiled: Vec<f32> = tiles.to_vec().unwrap().iter().map(|x| x * 2.0).collect();
        assert_eq!(matrix.call(&tiles).unwrap().to_vec().unwrap(), tiled);
        assert_eq!(tiled[..4], [0.0, 2.0, 12.0, 14.0]);
        let merged = view.reshape([2, 12]).unwrap().slice(0, 1..2).unwrap();
        assert_eq!(matrix.call(&merged).unwrap().to_vec().unwrap()[..2], [24.0, 26.0]);
        // Contiguous parts at the front take the road of whole tensors; those behind them do not.
        assert_eq!(matrix.call(&view.slice(0, 0..1).unwrap()).unwrap().dims(), [1, 6]);
        assert_eq!(matrix.call(&view.slice(0, 1..2).unwrap()).unwrap().to_vec().unwrap()[0], 12.0);
        let mut whole = Tensor::<f32, (N, M)>::zeros([4, 6]).unwrap();
        matrix.call_into(&mut whole, &view).unwrap();
        assert_eq!(whole.view::<2>().unwrap().get([3, 5]).unwrap(), 46.0);
        // What somebody else sees stays what it was.
        let before = whole.clone();
        matrix.call_into(&mut whole, &before).unwrap();
        assert_eq!((before.to_vec().unwrap()[1], whole.to_vec().unwrap()[1]), (2.0, 4.0));
    }
}

#[test]
fn wrong_views_are_told() {
    let x = Tensor::<f32, (N, M)>::from_vec([2, 3], vec![0.0; 6]).unwrap();
    let view = x.view::<2>().unwrap();
    let f = compile(|x: Arr<f32, (N, M)>| x + 1.0).unwrap();
    let told = |error: Error| error.to_string();
    assert_eq!(
        told(x.view::<3>().unwrap_err()),
        "the tensor has 2 dimensions, the view 3 axes; write `TensorView<_, 2>`"
    );
    assert_eq!(view.slice(0, 1..3).unwrap_err(), ViewError::Range { axis: 0, start: 1, end: 3, extent: 2 });
    assert_eq!(view.slice(2, 0..1).unwrap_err(), ViewError::Axis { axis: 2, rank: 2 });
    assert_eq!(view.step(0, 0).unwrap_err(), ViewError::ZeroStep { axis: 0 });
    assert_eq!(view.permute([1, 1]).unwrap_err(), ViewError::Order { order: vec![1, 1] });
    assert!(matches!(view.broadcast([2, 4]), Err(ViewError::Broadcast { .. })));
    assert!(matches!(view.transpose(0, 1).unwrap().reshape([6]), Err(ViewError::Reshape { .. })));
    assert!(matches!(view.windows::<3>(1, 4, 1), Err(ViewError::Range { .. })));
    assert!(matches!(x.view_strided([2, 2], [-1, 1], 0), Err(Error::View(ViewError::Outside { .. }))));
    assert!(matches!(x.view_as([2, 3], MemoryLayout::Tiled([2, 2])), Err(Error::View(ViewError::Outside { .. }))));
    assert!(matches!(
        x.view_as([2, 3], MemoryLayout::Tiled([2, 0])),
        Err(Error::View(ViewError::ZeroTile { axis: 1 }))
    ));
    // A layout that the memory is too small for is told by the call.
    let tiles = view.with_layout(MemoryLayout::Tiled([2, 2]));
    assert!(matches!(f.call(&tiles), Err(Error::View(ViewError::Outside { last: 7, len: 6, .. }))));
    assert!(matches!(f.call(&TensorView::new([2, 3])), Err(Error::View(ViewError::NoData))));
    assert!(matches!(f.call(&view.unsqueeze::<3>(0).unwrap()), Err(Error::Call(CallError::Rank { .. }))));

    let mut y = Tensor::<f32, (N, M)>::zeros([3, 3]).unwrap();
    assert_eq!(
        told(f.call_into(&mut y, &view).unwrap_err()),
        "result 1 has the dimensions [2, 3], what it is to be written into [3, 3]; pass a tensor or view of its dimensions"
    );
    let kept = compile(|x: Arr<f32, N>| x.filter::<M>(|x| x.gt(0.0))).unwrap();
    let mut z = Tensor::<f32, M>::zeros([3]).unwrap();
    assert!(matches!(kept.call_into(&mut z, &[1.0f32]), Err(Error::Call(CallError::Counted { result: 1 }))));
}

/// What was seen of the first positions of a tensor says nothing about the others.
#[test]
fn positions_in_a_part_of_a_tensor() {
    let positions: Tensor<At<N>, M> = Tensor::from_vec([2], vec![At::new(0), At::new(9)]).unwrap();
    let f = compile(|x: Arr<f32, N>, p: Arr<At<N>, M>| p.map(|i| x.at(i))).unwrap();
    let x = [5.0f32; 5];
    let first = positions.view::<1>().unwrap().slice(0, 0..1).unwrap();
    assert_eq!(f.call(&x, &first).unwrap().to_vec().unwrap(), [5.0]);
    let wrong = f.call(&x, &positions).unwrap_err();
    assert!(matches!(wrong, Error::Call(CallError::Outside { element: 1, position: 9, extent: 5, .. })), "{wrong}");
}

/// Views that nobody could count the elements of.
#[test]
fn huge_views_are_told() {
    let x = Tensor::<f32>::from_vec([1], vec![1.0]).unwrap();
    let one = x.view::<1>().unwrap();
    assert!(matches!(
        one.broadcast([1 << 40, 1 << 20]).unwrap().to_vec(),
        Err(Error::View(ViewError::TooLarge { .. }))
    ));
    let huge = TensorView::new([usize::MAX, usize::MAX]);
    assert!(matches!(huge.reshape([usize::MAX, usize::MAX, 1]), Err(ViewError::TooLarge { .. })));
    assert_eq!(huge.with_layout(MemoryLayout::Tiled([0, 2])).place([1, 1]), None);
    assert_eq!(huge.with_layout(MemoryLayout::Tiled([2, 2])).place([usize::MAX - 1; 2]), None);
    assert_eq!(huge.place([usize::MAX - 1; 2]), None);
}

/// Three turns tile by tile are three turns over the whole.
#[test]
fn tiles_with_halos_are_stencils() {
    fn turn(u: &dyn Fn((i32, i32)) -> Exp<i32>) -> Exp<i32> {
        2 * u((0, 0)) - u((-1, 0)) + 3 * u((1, 0)) + u((0, -1)) - 5 * u((0, 1)) + u((1, 1))
    }
    for device in devices() {
        for border in [Border::Clamp, Border::Wrap, Border::Value(7)] {
            let plain = slyz::compile_on(&device, move |mut u: Arr<i32, (N, M)>| {
                for _ in 0..3 {
                    u = u.stencil(border, turn);
                }
                u
            });
            let tiled = slyz::compile_on(&device, move |u: Arr<i32, (N, M)>| {
                for_tiles(u.partition::<8, 16>().halo::<3>(border), |mut tile| {
                    for _ in 0..3 {
                        tile = tile.stencil(turn);
                    }
                    tile
                })
            });
            let (plain, tiled) = (plain.unwrap(), tiled.unwrap());
            for [n, m] in [[1, 1], [5, 3], [33, 70], [0, 4]] {
                let data: Vec<i32> = (0..n * m).map(|k| (k * 37 % 101) as i32 - 50).collect();
                let u = Tensor::<i32, (N, M)>::from_vec([n, m], data).unwrap();
                let (expected, found) = (plain.call(&u).unwrap(), tiled.call(&u).unwrap());
                assert_eq!(found.to_vec().unwrap(), expected.to_vec().unwrap(), "{border:?} {n}×{m} {}", device.name());
            }
        }
    }
    let narrow = compile(|u: Arr<i32, (N, M)>| {
        for_tiles(u.partition::<8, 8>().halo::<1>(Border::Clamp), |tile| tile.stencil(turn).stencil(turn))
    });
    assert!(narrow.err().unwrap().to_string().contains("stencils of a tile reach 2 positions far, its halo is 1"));
}

#[graph]
fn doubled(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    if thread.x < out.len() {
        out[thread.x] = 2.0 * x[thread.x];
    }
}

#[graph(as_written)]
fn doubled_as_written(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    if thread.x < out.len() {
        out[thread.x] = 2.0 * x[thread.x];
    }
}

/// Kernels by hand take views: those that are raised read them where they are, the threads of others a copy.
#[test]
fn kernels_by_hand_take_views() -> Result<(), Error> {
    let x = Tensor::<f32, (N, M)>::from_vec([6, 5], (0..30).map(|k| k as f32).collect())?;
    for device in devices() {
        let x = x.to(&device)?;
        let view = || x.view::<2>();
        let views = [
            view()?.transpose(0, 1)?,
            view()?.slice(0, 1..5)?.step(0, 2)?,
            view()?.flip(1)?,
            view()?.slice(1, 2..3)?,
            view()?.slice(0, 3..3)?,
            view()?.slice(0, 2..4)?,
        ];
        for view in &views {
            let expected: Vec<f32> = view.to_vec()?.iter().map(|x| 2.0 * x).collect();
            let n = view.numel();
            for raised in [true, false] {
                let mut out = Tensor::<f32>::zeros([n])?;
                let launch = || match raised {
                    true => doubled(view, &mut out).threads(n).on(&device).run(),
                    false => doubled_as_written(view, &mut out).threads(n).on(&device).run(),
                };
                let (done, launches) = slyz_run::profile(launch);
                done?;
                let strides = view.strides();
                assert_eq!(out.to_vec()?, expected, "{strides:?} {raised} {}", device.name());
                // What is raised on a CPU is one kernel with its view.
                let is_one = device.name() != "cpu" || !raised || launches.len() <= 1;
                assert!(is_one, "{strides:?}: {launches:?}");
            }
        }
    }
    Ok(())
}
