/* PolyBench syr2k: C = alpha (A B' + B A') + beta C on the lower triangle. */
void syr2k(float A[restrict N][M], float B[restrict N][M], float C[restrict N][N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) C[i][j] *= 1.2f;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += A[j][k] * 1.5f * B[i][k] + B[j][k] * 1.5f * A[i][k];
}
