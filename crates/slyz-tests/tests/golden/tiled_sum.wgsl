// Dispatch grid_x × grid_y × grid_z workgroups.
fn combine(x: f32, x2: f32) -> f32 {
    return x + x2;
}

struct Sizes { height: u32, width: u32, tiles_x: u32 }

@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;
var<workgroup> tile: array<array<f32, 16>, 16>;

@compute @workgroup_size(16, 16)
fn tiled_reduce(
    @builtin(global_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) block: vec3<u32>,
) {
    var v: f32;
    if thread.x < sizes.width && thread.y < sizes.height {
        v = input[thread.y * sizes.width + thread.x];
    } else {
        v = 0.0;
    }
    tile[local.y][local.x] = v;
    workgroupBarrier();
    let first = local.x == 0u;
    if local.x < 8u {
        tile[local.y][local.x] = combine(tile[local.y][local.x], tile[local.y][local.x + 8u]);
    }
    workgroupBarrier();
    if local.x < 4u {
        tile[local.y][local.x] = combine(tile[local.y][local.x], tile[local.y][local.x + 4u]);
    }
    workgroupBarrier();
    if local.x < 2u {
        tile[local.y][local.x] = combine(tile[local.y][local.x], tile[local.y][local.x + 2u]);
    }
    workgroupBarrier();
    if local.x < 1u {
        tile[local.y][local.x] = combine(tile[local.y][local.x], tile[local.y][local.x + 1u]);
    }
    workgroupBarrier();
    if first && local.y < 8u {
        tile[local.y][0u] = combine(tile[local.y][0u], tile[local.y + 8u][0u]);
    }
    workgroupBarrier();
    if first && local.y < 4u {
        tile[local.y][0u] = combine(tile[local.y][0u], tile[local.y + 4u][0u]);
    }
    workgroupBarrier();
    if first && local.y < 2u {
        tile[local.y][0u] = combine(tile[local.y][0u], tile[local.y + 2u][0u]);
    }
    workgroupBarrier();
    if first && local.y < 1u {
        tile[local.y][0u] = combine(tile[local.y][0u], tile[local.y + 1u][0u]);
    }
    workgroupBarrier();
    if first && local.y == 0u {
        partials[block.y * sizes.tiles_x + block.x] = tile[0u][0u];
    }
}
