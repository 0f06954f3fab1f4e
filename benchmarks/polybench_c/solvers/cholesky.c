/* PolyBench cholesky: A = L L' in place, L in the lower triangle. */
#include <math.h>

void cholesky(float A[restrict N][N]) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }
        for (int k = 0; k < i; k++) A[i][i] -= A[i][k] * A[i][k];
        A[i][i] = sqrtf(A[i][i]);
    }
}
