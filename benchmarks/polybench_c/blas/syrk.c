/* PolyBench syrk: C = alpha A A' + beta C on the lower triangle. */
void syrk(float A[restrict N][M], float C[restrict N][N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) C[i][j] *= 1.2f;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++)
            for (int j = 0; j <= i; j++) C[i][j] += 1.5f * A[i][k] * A[j][k];
}
