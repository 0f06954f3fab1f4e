/* PolyBench seidel-2d: Gauss-Seidel sweeps of a nine-point mean, in place. */
void seidel_2d(float A[restrict N][N]) {
    for (int t = 0; t < S; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] +
                           A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) /
                          9.0f;
}
