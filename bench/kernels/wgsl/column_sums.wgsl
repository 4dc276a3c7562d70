// The sum of each column of a ROWS x COLUMNS matrix: a thread adds CHUNK rows of a column, then the chunks are added.
override ROWS: u32;
override COLUMNS: u32;
override CHUNK: u32;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn chunks(@builtin(global_invocation_id) g: vec3<u32>) {
    if g.x >= COLUMNS { return; }
    var own = 0.0;
    let end = min((g.y + 1u) * CHUNK, ROWS);
    for (var i = g.y * CHUNK; i < end; i += 1u) { own += x[i * COLUMNS + g.x]; }
    out[g.y * COLUMNS + g.x] = own;
}
