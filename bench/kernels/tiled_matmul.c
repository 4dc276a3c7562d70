/* The tiled product of the page on graph functions, for one core: a block is a tile of 16 x 16 sums. Units: blocks, x fastest. */
#include "lanes.h"

#define TILE 16

KERNEL(tiled_matmul) {
    NOT_USED(s);
    OUT(f32, c, 0);
    IN(f32, a, 0);
    IN(f32, b, 1);
    i64 side = n[0], across = side / TILE;
    for (i64 block = lo; block < hi; block++) {
        i64 row = block / across * TILE, col = block % across * TILE;
        f32 as[TILE][TILE], bs[TILE][TILE], sum[TILE][TILE] = {{0}};
        for (i64 tile = 0; tile < side / TILE; tile++) {
            for (int y = 0; y < TILE; y++)
                for (int x = 0; x < TILE; x += W) {
                    store(&as[y][x], load(a + (row + y) * side + tile * TILE + x));
                    store(&bs[y][x], load(b + (tile * TILE + y) * side + col + x));
                }
            for (int y = 0; y < TILE; y++)
                for (int x = 0; x < TILE; x += W) {
                    vf total = load(&sum[y][x]);
                    for (int k = 0; k < TILE; k++) total += as[y][k] * load(&bs[k][x]);
                    store(&sum[y][x], total);
                }
        }
        for (int y = 0; y < TILE; y++)
            for (int x = 0; x < TILE; x += W) store(c + (row + y) * side + col + x, load(&sum[y][x]));
    }
}
