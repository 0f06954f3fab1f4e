/* PolyBench gemm: C = alpha A B + beta C. */
void gemm(float A[restrict P][Q], float B[restrict Q][R], float C[restrict P][R]) {
    for (int i = 0; i < P; i++) {
        for (int j = 0; j < R; j++) C[i][j] *= 1.2f;
        for (int k = 0; k < Q; k++)
            for (int j = 0; j < R; j++) C[i][j] += 1.5f * A[i][k] * B[k][j];
    }
}
