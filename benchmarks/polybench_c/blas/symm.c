/* PolyBench symm: C = alpha A B + beta C for a symmetric A, of which the lower triangle is read. */
void symm(float A[restrict M][M], float B[restrict M][N], float C[restrict M][N]) {
    for (int i = 0; i < M; i++) {
        float total[N];
        for (int j = 0; j < N; j++) total[j] = 0;
        for (int j = 0; j < N; j++)
            for (int k = 0; k < i; k++) {
                C[k][j] += 1.5f * B[i][j] * A[i][k];
                total[j] += B[k][j] * A[i][k];
            }
        for (int j = 0; j < N; j++)
            C[i][j] = 1.2f * C[i][j] + 1.5f * B[i][j] * A[i][i] + 1.5f * total[j];
    }
}
