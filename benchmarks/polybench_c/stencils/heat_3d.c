/* PolyBench heat-3d: the heat equation in three dimensions, between two arrays. */
void heat_3d(float A[restrict N][N][N], float B[restrict N][N][N]) {
    for (int t = 0; t < S; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++)
                    B[i][j][k] = 0.125f * (A[i + 1][j][k] - 2 * A[i][j][k] + A[i - 1][j][k]) +
                                 0.125f * (A[i][j + 1][k] - 2 * A[i][j][k] + A[i][j - 1][k]) +
                                 0.125f * (A[i][j][k + 1] - 2 * A[i][j][k] + A[i][j][k - 1]) +
                                 A[i][j][k];
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++)
                    A[i][j][k] = 0.125f * (B[i + 1][j][k] - 2 * B[i][j][k] + B[i - 1][j][k]) +
                                 0.125f * (B[i][j + 1][k] - 2 * B[i][j][k] + B[i][j - 1][k]) +
                                 0.125f * (B[i][j][k + 1] - 2 * B[i][j][k] + B[i][j][k - 1]) +
                                 B[i][j][k];
    }
}
