/* PolyBench trmm: B = alpha A' B for a lower triangle A with ones on its diagonal. */
void trmm(float A[restrict M][M], float B[restrict M][N]) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = i + 1; k < M; k++) B[i][j] += A[k][i] * B[k][j];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) B[i][j] = 1.5f * B[i][j];
}
