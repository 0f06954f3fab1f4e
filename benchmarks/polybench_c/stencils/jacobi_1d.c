/* PolyBench jacobi-1d: a three-point stencil between two arrays. */
void jacobi_1d(float A[restrict N], float B[restrict N]) {
    for (int t = 0; t < S; t++) {
        for (int i = 1; i < N - 1; i++) B[i] = 0.33333f * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < N - 1; i++) A[i] = 0.33333f * (B[i - 1] + B[i] + B[i + 1]);
    }
}
