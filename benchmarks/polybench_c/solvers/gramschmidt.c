/* PolyBench gramschmidt: A = Q R by the modified Gram-Schmidt process. */
#include <math.h>

void gramschmidt(float A[restrict M][N], float R[restrict N][N], float Q[restrict M][N]) {
    for (int k = 0; k < N; k++) {
        float norm = 0;
        for (int i = 0; i < M; i++) norm += A[i][k] * A[i][k];
        R[k][k] = sqrtf(norm);
        for (int i = 0; i < M; i++) Q[i][k] = A[i][k] / R[k][k];
        for (int j = k + 1; j < N; j++) {
            R[k][j] = 0;
            for (int i = 0; i < M; i++) R[k][j] += Q[i][k] * A[i][j];
            for (int i = 0; i < M; i++) A[i][j] = A[i][j] - Q[i][k] * R[k][j];
        }
    }
}
